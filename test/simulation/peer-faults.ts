import { KelpError } from '../../src/model/errors.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { PeerAnswer, PeerRequest, Peers } from '../../src/ports/peers.ts';
import type { SeededRandom } from './seeded-random.ts';

export type PeerFaults = {
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** The share of requests that meet a fault now, in [0, 1]. */
  readonly share: () => number;
  /** The longest delay, and how late a request arrives of which its sender knows nothing any more. */
  readonly msMax: number;
  readonly travelMsMax: number;
};

const KINDS = ['refused', 'lost', 'late', 'unanswered', 'delayed', 'answer delayed'] as const;
const forEver = new AbortController().signal;

/** Requests take their way, and meet whatever a network does to them. */
export function faultyPeers(peers: Peers, faults: PeerFaults): Peers {
  const { clock, random, share, msMax, travelMsMax } = faults;
  const someMs = (): number => random.integer(msMax + 1);

  async function arrive(request: PeerRequest, signal: AbortSignal): Promise<PeerAnswer> {
    const kind = random.chance(share()) ? random.pick(KINDS) : undefined;
    const { id } = request.broker;
    if (kind === 'refused') throw new KelpError('unavailable', 'peer-refused', `no connection to ${id}`);
    if (kind === 'lost') await lose(request, someMs(), signal);
    if (kind === 'late') {
      // Whatever comes of it, nobody hears.
      void clock.sleep(someMs(), forEver).then(() => peers.send(request, forEver).catch(() => undefined));
      await lose(request, someMs(), signal);
    }
    if (kind === 'delayed') await sleepOnTheWay(request, someMs(), signal);
    const answer = await peers.send(request, signal);
    if (kind === 'answer delayed') await sleepOnTheWay(request, someMs(), signal);
    if (kind === 'unanswered') throw unknown(request, undefined);
    return answer;
  }

  async function lose(request: PeerRequest, ms: number, signal: AbortSignal): Promise<never> {
    await sleepOnTheWay(request, ms, signal);
    throw unknown(request, undefined);
  }

  async function sleepOnTheWay(request: PeerRequest, ms: number, signal: AbortSignal): Promise<void> {
    await clock.sleep(ms, signal).catch((cause: unknown) => {
      throw unknown(request, cause);
    });
  }

  return {
    async send(request, signal) {
      await clock.sleep(random.integer(travelMsMax), signal);
      const answer = await arrive(request, signal);
      await sleepOnTheWay(request, random.integer(travelMsMax), signal);
      return answer;
    },
  };
}

function unknown({ broker, operation }: PeerRequest, cause: unknown): KelpError {
  return new KelpError('indefinite', 'peer-indefinite', `broker ${broker.id} may have received ${operation}`, { cause });
}
