import type { SeededRandom } from '../simulation/seeded-random.ts';
import { type Choose, randomly } from './choose.ts';
import type { StoreCall, StoreFault } from './faulty-store.ts';
import type { TableCall, TableFault } from './faulty-table.ts';

export type FaultMix = {
  /** The share of calls that meet a fault, in [0, 1]; all kinds are equally likely. */
  readonly share: number;
  /** The longest delay, and how late a late effect lands. */
  readonly msMax: number;
  /** Copies of a table's writes are of those that were applied only: nothing repeats a request after its refusal was answered. */
  readonly copiesOfApplied?: boolean;
};

/** Every kind of fault of a table but the one that never answers, which is for tests with deadlines. */
export function randomTableFaults(
  random: SeededRandom,
  { share, msMax, copiesOfApplied = false }: FaultMix,
): Choose<TableCall, TableFault> {
  const late = (from: SeededRandom): number => from.integer(msMax + 1);
  const kinds: ((from: SeededRandom) => TableFault)[] = [
    () => ({ kind: 'throttled' }),
    () => ({ kind: 'conflict' }),
    () => ({ kind: 'unreachable' }),
    () => ({ kind: 'failed' }),
    () => ({ kind: 'answer-lost' }),
    (from) => ({ kind: 'late', ms: late(from) }),
    (from) => ({ kind: 'doubled', ms: late(from), ofApplied: copiesOfApplied }),
    (from) => ({ kind: 'delayed', ms: late(from) }),
    (from) => ({ kind: 'answer-delayed', ms: late(from) }),
  ];
  return randomly(
    random,
    kinds.map((fault) => ({ probability: share / kinds.length, fault })),
  );
}

/** Every kind of fault of a store that a caller can get over by asking again; damage is apart. */
export function randomStoreFaults(random: SeededRandom, { share, msMax }: FaultMix): Choose<StoreCall, StoreFault> {
  const late = (from: SeededRandom): number => from.integer(msMax + 1);
  const kinds: ((from: SeededRandom) => StoreFault)[] = [
    () => ({ kind: 'slow-down' }),
    () => ({ kind: 'unreachable' }),
    () => ({ kind: 'failed' }),
    () => ({ kind: 'answer-lost' }),
    (from) => ({ kind: 'late', ms: late(from) }),
    (from) => ({ kind: 'doubled', ms: late(from) }),
    (from) => ({ kind: 'delayed', ms: late(from) }),
  ];
  return randomly(
    random,
    kinds.map((fault) => ({ probability: share / kinds.length, fault })),
  );
}

const isRead = (call: StoreCall): boolean => call.op === 'getRange';

/** Reads that give other bytes than were stored, or none. */
export function randomDamage(random: SeededRandom, share: number): Choose<StoreCall, StoreFault> {
  const kinds: ((from: SeededRandom) => StoreFault)[] = [
    () => ({ kind: 'missing' }),
    () => ({ kind: 'truncated' }),
    (from) => ({ kind: 'flipped', at: from.fraction() }),
  ];
  return randomly(
    random,
    kinds.map((fault) => ({ probability: share / kinds.length, match: isRead, fault })),
  );
}
