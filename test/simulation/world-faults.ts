import { KelpError } from '../../src/model/errors.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { type Around, interceptStore, interceptTable, nameOf, type StoreCall, type TableCall } from './intercept.ts';

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

export type FaultyTable = MetadataTable & {
  /** Does the late ones, in the order in which they were sent. */
  deliver(): Promise<void>;
  /** Calls of each kind so far. */
  readonly calls: ReadonlyMap<string, number>;
};

/** `plan`: faults by the call's name, such as `update head`. A plan of one word holds for every call. */
export function faultyTable(table: MetadataTable, plan: Readonly<Record<string, readonly Fault[] | Fault>>): FaultyTable {
  const calls = new Map<string, number>();
  const late: (() => Promise<unknown>)[] = [];
  const around: Around<TableCall> = async (call, make) => {
    const name = nameOf(call);
    const number = calls.get(name) ?? 0;
    calls.set(name, number + 1);
    const planned = plan[name];
    const fault = typeof planned === 'string' ? planned : (planned?.[number] ?? 'ok');
    switch (fault) {
      case 'ok':
        return make();
      case 'lost':
        await make();
        throw unanswered();
      case 'late':
        late.push(() => make('detached'));
        throw unanswered();
      case 'dropped':
        throw unanswered();
      case 'throttled':
        throw throttled();
      case 'conflict':
        throw conflicted();
      case 'unavailable':
        throw unavailable();
    }
  };
  const deliver = async (): Promise<void> => {
    for (const make of late.splice(0)) await make();
  };
  return { ...interceptTable(table, around), deliver, calls };
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
