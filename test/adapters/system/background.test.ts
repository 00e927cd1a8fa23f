import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { createBackground } from '../../../src/adapters/system/background.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(() => {
  process.off('unhandledRejection', note);
  unhandled.length = 0;
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const telemetry = createRecordingTelemetry();

test('waits for what is under way, and for what that has begun', async () => {
  const background = createBackground({ clock: createSystemClock(), telemetry });
  const done: string[] = [];
  background.run('first', 1_000, async () => {
    await turn();
    background.run('second', 1_000, async () => {
      await turn();
      done.push('second');
    });
    done.push('first');
  });
  await background.settled(AbortSignal.timeout(10_000));
  expect(done).toEqual(['first', 'second']);
});

test('waits for what it watches, and lets its caller have what became of it', async () => {
  const background = createBackground({ clock: createSystemClock(), telemetry });
  const [answered, failed] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const [first, second] = [background.watch(answered.promise), background.watch(failed.promise)];
  let isSettled = false;
  const settled = background.settled(AbortSignal.timeout(10_000)).then(() => (isSettled = true));
  answered.resolve('an answer');
  expect(await first).toBe('an answer');
  await turn();
  expect(isSettled).toBe(false);
  failed.reject(new Error('of its own'));
  await expect(second).rejects.toThrow('of its own');
  await settled;
  await turn();
  expect(unhandled).toEqual([]);
});

test('ends with its signal while something is under way', async () => {
  const background = createBackground({ clock: createSystemClock(), telemetry });
  let finish = (): void => undefined;
  background.run('long', 1_000, () => new Promise((resolve) => (finish = resolve)));
  const impatient = new AbortController();
  const settled = background.settled(impatient.signal);
  impatient.abort(new Error('no time'));
  await expect(settled).rejects.toThrow('no time');
  finish();
});

test('a signal that aborts when nobody waits is nothing to anybody', async () => {
  const background = createBackground({ clock: createSystemClock(), telemetry });
  const late = new AbortController();
  await background.settled(late.signal);
  late.abort(new Error('too late'));
  await background.settled(AbortSignal.abort(new Error('long ago')));
  await turn();
  expect(unhandled).toEqual([]);
});
