import { KelpError } from '../../src/model/errors.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { createFaultyTable, type TableFault } from '../faults/faulty-table.ts';
import { interceptStore, interceptTable, nameOf, type StoreCall, type TableCall } from './intercept.ts';
import { createVirtualClock } from './virtual-clock.ts';

// Single faults, put where a test wants them.

export const throttled = (): KelpError => new KelpError('throttled', 'table-throttled', 'throttled');
export const conflicted = (): KelpError => new KelpError('conflict', 'table-conflict', 'conflict');
export const unanswered = (): KelpError => new KelpError('indefinite', 'table-indefinite', 'no answer');
export const unavailable = (): KelpError => new KelpError('unavailable', 'table-unavailable', 'not there');

/**
 * What becomes of the calls of one kind, one fault for each of them in turn; later ones go through.
 * `lost`: done, but not answered. `dropped`: neither done nor answered. `late`: not answered, and done by `deliver`.
 */
export type Fault = 'ok' | 'lost' | 'dropped' | 'late' | 'throttled' | 'conflict' | 'unavailable';

const FAULTS: Readonly<Record<Fault, TableFault | undefined>> = {
  ok: undefined,
  lost: { kind: 'answer-lost' },
  dropped: { kind: 'failed' },
  late: { kind: 'late' },
  throttled: { kind: 'throttled' },
  conflict: { kind: 'conflict' },
  unavailable: { kind: 'unreachable' },
};

export type PlannedTable = MetadataTable & {
  /** Does the late ones, in the order in which they were sent. */
  deliver(): Promise<void>;
  /** Calls of each kind so far. */
  readonly calls: ReadonlyMap<string, number>;
};

/** `plan`: faults by the call's name, such as `update head`. A plan of one word holds for every call. */
export function faultyTable(table: MetadataTable, plan: Readonly<Record<string, readonly Fault[] | Fault>>): PlannedTable {
  const calls = new Map<string, number>();
  const choose = ({ op, key }: { readonly op: TableCall['op']; readonly key: { readonly pk: string } }): TableFault | undefined => {
    const name = nameOf(op, key.pk);
    const number = calls.get(name) ?? 0;
    calls.set(name, number + 1);
    const planned = plan[name];
    return FAULTS[typeof planned === 'string' ? planned : (planned?.[number] ?? 'ok')];
  };
  // No fault of a plan takes time.
  const faulty = createFaultyTable(table, { choose, clock: createVirtualClock() });
  return { ...faulty, deliver: () => faulty.late.land(), calls };
}

/** Kills whoever uses these ports at the nth of their calls: nothing that comes later is done or answered. */
export type Killer = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  /** Resolves when it has struck. */
  readonly struck: Promise<void>;
  calls(): number;
};

/** `at`: from 1. `done`: whether the call at which it strikes still takes effect. */
export function createKiller(
  ports: { readonly table: MetadataTable; readonly store: ObjectStore },
  strike: { readonly at: number; readonly done: boolean },
): Killer {
  const { promise: struck, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const around = async <R>(_call: TableCall | StoreCall, make: () => Promise<R>): Promise<R> => {
    calls += 1;
    if (calls < strike.at) return make();
    if (calls === strike.at) {
      if (strike.done) await make();
      resolve();
    }
    return new Promise<R>(() => undefined);
  };
  return { table: interceptTable(ports.table, around), store: interceptStore(ports.store, around), struck, calls: () => calls };
}
