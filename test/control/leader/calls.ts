import type { Leader } from '../../../src/model/broker.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import type { VirtualClock } from '../../simulation/virtual-clock.ts';

export const leader: Leader = { id: 'a' as BrokerId, url: 'http://a', epoch: 1 };
export const next: Leader = { id: 'b' as BrokerId, url: 'http://b', epoch: 2 };
export const depsOf = (clock: VirtualClock, seed = 1) => ({ clock, random: createSeededRandom(seed) });
export const forEver = new AbortController().signal;
export const ok = async (): Promise<string> => 'done';

/** Counts its calls, and when they were; answers with each of these in turn, then with the last one. */
export function counting<T>(clock: VirtualClock, ...answers: readonly (() => Promise<T>)[]) {
  const atMs: number[] = [];
  const call = async (): Promise<T> => {
    atMs.push(clock.monotonicMs());
    const answer = answers[Math.min(atMs.length, answers.length) - 1];
    if (answer === undefined) throw new Error('no answer was given');
    return answer();
  };
  return Object.assign(call, { atMs });
}

export const fails = (error: unknown) => async (): Promise<never> => {
  throw error;
};
