import type { BrokerId } from '../model/ids.ts';
import { LEASE_MS } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { BrokerDirectory } from './brokers/directory.ts';

/** Whether other brokers reach this one, by what they have asked of it. */
export type Reachability = {
  /** Another one has asked something, and got an answer. */
  noteAsked(): void;
  /** Before it leads: it was asked in this life of the process, or nobody is there who could ask. */
  isKnown(signal: AbortSignal): Promise<boolean>;
  /**
   * While it leads: resolves once it answers to nobody, though others are there who answer to it and would ask twice a second.
   * Ends with the signal.
   */
  untilLost(othersAnswer: () => boolean, signal: AbortSignal): Promise<void>;
};

/** The others look for a leader twice a second: that long without a question, and none of them can ask. */
const UNASKED_MS_MAX = 2 * LEASE_MS;

export function createReachability(deps: {
  readonly clock: Clock;
  readonly directory: Pick<BrokerDirectory, 'list'>;
  readonly self: BrokerId;
}): Reachability {
  const { clock, directory, self } = deps;
  let askedMs: number | undefined;
  return {
    noteAsked: () => void (askedMs = clock.monotonicMs()),
    async isKnown(signal) {
      if (askedMs !== undefined) return true;
      const brokers = await directory.list({ fresh: true }, signal);
      return brokers.every(({ id, kind }) => id === self || kind === 'fleet');
    },
    async untilLost(othersAnswer, signal) {
      let sinceMs = clock.monotonicMs();
      while (clock.monotonicMs() - Math.max(sinceMs, askedMs ?? -Infinity) < UNASKED_MS_MAX) {
        await clock.sleep(LEASE_MS, signal);
        if (!othersAnswer()) sinceMs = clock.monotonicMs();
      }
    },
  };
}
