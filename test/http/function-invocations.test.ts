import { expect, test } from 'vitest';
import { createBackground } from '../../src/adapters/system/background.ts';
import { createInvocations, type Invocations } from '../../src/http/function-handler.ts';
import { createVirtualClock, type VirtualClock } from '../simulation/virtual-clock.ts';

// When an invocation may return: of one that is alone, and of several in one instance.

const PLENTY_MS = 20_000;
const { signal } = new AbortController();

type World = {
  readonly clock: VirtualClock;
  readonly invocations: Invocations;
  /** An invocation that answers after `ms` and leaves work behind that takes `behindMs`; when it has returned. */
  invoke(ms: number, behindMs: number, leftMs?: number): Promise<number>;
};

function start(): World {
  const clock = createVirtualClock();
  const telemetry = { count: () => undefined, adjust: () => undefined, record: () => undefined, log: () => undefined };
  const background = createBackground({ clock, telemetry });
  const invocations = createInvocations({ clock, settled: background.settled });
  return {
    clock,
    invocations,
    async invoke(ms, behindMs, leftMs = PLENTY_MS) {
      const endsMs = clock.monotonicMs() + leftMs;
      const context = { getRemainingTimeInMillis: () => endsMs - clock.monotonicMs() } as Parameters<Invocations['run']>[0];
      await invocations.run(context, async () => {
        await clock.sleep(ms, signal);
        background.run('behind', PLENTY_MS, (own) => clock.sleep(behindMs, own));
      });
      return clock.monotonicMs();
    },
  };
}

test('one that is alone returns when the work behind it is done, or just before its end', async () => {
  const { clock, invoke } = start();
  const fromMs = clock.monotonicMs();
  expect((await clock.run(invoke(10, 300))) - fromMs).toBe(310);
  const thenMs = clock.monotonicMs();
  expect((await clock.run(invoke(10, 3_000, 1_000))) - thenMs).toBe(850);
});

test('the last one of several waits for the work of all; the others for nothing', async () => {
  const { clock, invoke } = start();
  const fromMs = clock.monotonicMs();
  const returned = await clock.run(Promise.all([invoke(10, 500), invoke(20, 5_000), invoke(100, 1)]));
  expect(returned.map((ms) => ms - fromMs)).toEqual([10, 20, 5_020]);
});

test('one that waits for the work behind it returns when another one comes, which waits in its place', async () => {
  const { clock, invoke } = start();
  const fromMs = clock.monotonicMs();
  const first = invoke(10, 1_000);
  await clock.advance(200);
  const second = invoke(10, 1);
  expect((await clock.run(first)) - fromMs).toBe(200);
  expect((await clock.run(second)) - fromMs).toBe(1_010);
});

test('among many that come and go, with work behind each, nobody waits for long', async () => {
  const { clock, invoke } = start();
  const lasted: Promise<number>[] = [];
  for (let n = 0; n < 200; n += 1) {
    const fromMs = clock.monotonicMs();
    lasted.push(invoke(10, 50).then((ms) => ms - fromMs));
    await clock.advance(7);
  }
  const all = await clock.run(Promise.all(lasted));
  expect(Math.max(...all.slice(0, -1))).toBeLessThan(20);
  expect(all.at(-1)).toBe(60);
  // Nothing of those before is in its way.
  const thenMs = clock.monotonicMs();
  expect((await clock.run(invoke(10, 0))) - thenMs).toBe(10);
  expect(clock.sleeping()).toBe(0);
});

test('one that comes and goes in the same moment takes nobody’s place', async () => {
  const { clock, invocations, invoke } = start();
  const fromMs = clock.monotonicMs();
  const first = invoke(10, 500);
  await clock.advance(100);
  const context = { getRemainingTimeInMillis: () => PLENTY_MS } as Parameters<Invocations['run']>[0];
  const second = invocations.run(context, async () => undefined).then(() => clock.monotonicMs());
  expect((await clock.run(first)) - fromMs).toBe(100);
  expect((await clock.run(second)) - fromMs).toBe(510);
});

test('one that fails is under way no more', async () => {
  const { clock, invocations, invoke } = start();
  const context = { getRemainingTimeInMillis: () => PLENTY_MS } as Parameters<Invocations['run']>[0];
  await expect(invocations.run(context, () => Promise.reject(new Error('of its own')))).rejects.toThrow('of its own');
  const fromMs = clock.monotonicMs();
  expect((await clock.run(invoke(10, 40))) - fromMs).toBe(50);
});
