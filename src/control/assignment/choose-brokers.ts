import type { BrokerId } from '../../model/ids.ts';

/** A broker that may be given a segment: alive, and not being drained. */
export type Candidate = {
  readonly id: BrokerId;
  /** Brokers of one zone may fail together. */
  readonly zone: string;
  /** Segments that it serves. */
  readonly segments: number;
  readonly busyPercent: number;
};

/**
 * Who is to serve a segment, the one to be asked first in front: `replicas` of them, or all if there are fewer. Spread over
 * as many zones as there are. Each is the better of two that are picked at random: the very best one would be everybody's
 * choice at once, since what is known of load is seconds old. `fraction`: random numbers in [0, 1).
 */
export function chooseBrokers(
  candidates: readonly Candidate[],
  { replicas, fraction }: { readonly replicas: number; readonly fraction: () => number },
): BrokerId[] {
  const chosen: Candidate[] = [];
  while (chosen.length < Math.min(replicas, candidates.length)) {
    chosen.push(betterOfTwo(leastUsedZones(candidates, chosen), fraction));
  }
  return chosen.map((candidate) => candidate.id);
}

/** Those not chosen yet whose zone has given the fewest so far. */
function leastUsedZones(candidates: readonly Candidate[], chosen: readonly Candidate[]): Candidate[] {
  const left = candidates.filter((candidate) => !chosen.includes(candidate));
  const used = (zone: string): number => chosen.filter((candidate) => candidate.zone === zone).length;
  const fewest = Math.min(...left.map((candidate) => used(candidate.zone)));
  return left.filter((candidate) => used(candidate.zone) === fewest);
}

function betterOfTwo(pool: readonly Candidate[], fraction: () => number): Candidate {
  const first = Math.floor(fraction() * pool.length);
  // Another one than the first: counted on from it, around the end.
  const second = (first + 1 + Math.floor(fraction() * (pool.length - 1))) % pool.length;
  const [a, b] = [pool[first] as Candidate, pool[second] as Candidate];
  return weight(b) < weight(a) ? b : a;
}

/** What one more segment costs there: a broker that is busy all the time counts as one that serves twice as many. */
const weight = ({ segments, busyPercent }: Candidate): number => (segments + 1) * (100 + busyPercent);
