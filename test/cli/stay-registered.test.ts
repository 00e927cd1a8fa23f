import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { expect, test } from 'vitest';
import { stayRegistered } from '../../src/cli/stay-registered.ts';
import { FLEET_REGISTERED_MS, FUNCTION_BACKGROUND_MS_MAX } from '../../src/model/function-limits.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

function scene() {
  const clock = createVirtualClock();
  const asked: unknown[] = [];
  const shift = { ms: 0 };
  const handler = stayRegistered(() => Promise.resolve({ statusCode: 204 }), {
    clock: { ...clock, nowMs: () => clock.nowMs() + shift.ms },
    background: { run: (...work) => void asked.push(work) },
    register: () => Promise.resolve(),
  });
  const invoke = () => handler({} as APIGatewayProxyEventV2, {} as Context);
  return { clock, asked, shift, invoke };
}

test('registers with the start, then looks once with the first invocation of a minute, and by none without one', async () => {
  const { clock, asked, invoke } = scene();
  expect(asked).toEqual([['register', FUNCTION_BACKGROUND_MS_MAX, expect.any(Function)]]);
  await clock.advance(FLEET_REGISTERED_MS - 1);
  expect(await invoke()).toEqual({ statusCode: 204 });
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await Promise.all([invoke(), invoke(), invoke()]);
  expect(asked).toHaveLength(2);
  await clock.advance(10 * FLEET_REGISTERED_MS);
  expect(asked).toHaveLength(2);
  expect(clock.sleeping()).toBe(0);
  await invoke();
  expect(asked).toHaveLength(3);
});

test('a clock that was set back makes it look, and not wait for the old time to come again', async () => {
  const { asked, shift, invoke } = scene();
  shift.ms = -3_600_000;
  await invoke();
  await invoke();
  expect(asked).toHaveLength(2);
});
