import { describe, expect, test } from 'vitest';
import { reachableUrl } from '../../src/cli/reachable-url.ts';
import { type Serving, stopServing } from '../../src/cli/stop-serving.ts';
import { STOP_LINGER_MS } from '../../src/model/limits.ts';

type Parts = { leave?: Serving['broker']['leave']; stop?: Serving['broker']['stop'] };

/** A broker and a server that write down in which order they are asked. */
function serving({ leave = () => Promise.resolve(false), stop = () => Promise.resolve() }: Parts): Serving & { steps: string[] } {
  const steps: string[] = [];
  return {
    steps,
    broker: {
      leave: (signal) => (steps.push('leave'), leave(signal)),
      stop: (signal) => (steps.push('stop'), stop(signal)),
    },
    server: { drain: () => void steps.push('drain'), close: () => Promise.resolve(void steps.push('close')) },
    write: (line) => void steps.push(line),
  };
}

const never = new AbortController().signal;
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

async function timed(run: () => Promise<number>): Promise<{ code: number; ms: number }> {
  const beganMs = performance.now();
  const code = await run();
  return { code, ms: performance.now() - beganMs };
}

describe('stopServing', () => {
  test('a broker without others stops at once', async () => {
    const alone = serving({});
    const { code, ms } = await timed(() => stopServing(alone, never));
    expect(code).toBe(0);
    expect(ms).toBeLessThan(STOP_LINGER_MS / 2);
    expect(alone.steps).toEqual(['drain', 'leave', 'stop', 'close']);
  });

  test('one that has left its segments to others lingers before it stops', async () => {
    const left = serving({ leave: () => Promise.resolve(true) });
    const { code, ms } = await timed(() => stopServing(left, never));
    expect(code).toBe(0);
    expect(ms).toBeGreaterThan(STOP_LINGER_MS - 50);
    expect(left.steps).toEqual(['drain', 'leave', 'stop', 'close']);
  });

  test.each<[string, Parts]>([
    ['leave', { leave: untilAborted }],
    ['lingering', { leave: () => Promise.resolve(true) }],
  ])('being told again ends %s, and still finishes what is in flight', async (_, parts) => {
    const hurry = new AbortController();
    const told = serving(parts);
    const stopped = timed(() => stopServing(told, hurry.signal));
    await expect.poll(() => told.steps).toContain('leave');
    hurry.abort();
    const { code, ms } = await stopped;
    expect(code).toBe(0);
    expect(ms).toBeLessThan(STOP_LINGER_MS / 2);
    expect(told.steps).toEqual(['drain', 'leave', 'stop', 'close']);
  });

  test('what goes wrong is said, and the rest is done all the same', async () => {
    const failing = serving({ leave: () => Promise.reject(new Error('no leader')), stop: () => Promise.reject(new Error('too slow')) });
    expect(await stopServing(failing, never)).toBe(1);
    expect(failing.steps).toEqual([
      'drain',
      'leave',
      'kelp: stopping before its segments are with other brokers: Error: no leader',
      'stop',
      'kelp: stopping before all work has ended: Error: too slow',
      'close',
    ]);
  });
});

test.each([
  ['127.0.0.1', 'http://127.0.0.1:7333'],
  ['kelp.example', 'http://kelp.example:7333'],
  ['0.0.0.0', 'http://127.0.0.1:7333'],
  ['::', 'http://127.0.0.1:7333'],
  ['::1', 'http://[::1]:7333'],
])('what listens on %s is reached at %s', (host, url) => {
  expect(reachableUrl(host, 7333)).toBe(url);
});
