import { KelpError } from '../../src/model/errors.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Item, Key, MetadataTable, QueryPage, Update, WriteResult } from '../../src/ports/metadata-table.ts';
import type { Choose, Rule } from './choose.ts';
import { type LateEffects, createLateEffects } from './late-effects.ts';

export type TableCall = {
  readonly op: 'get' | 'put' | 'update' | 'delete' | 'query';
  /** A query has no sort key. */
  readonly key: { readonly pk: string; readonly sk?: string };
  readonly update?: Update;
  readonly item?: Item;
};

export type TableFault =
  /** Surely not applied, and said so. */
  | { readonly kind: 'throttled' | 'conflict' | 'unreachable' }
  /** Not applied, but nobody knows: a 500 or a time-out. A read is `unavailable`. */
  | { readonly kind: 'failed' }
  /** Applied, but its answer is lost. */
  | { readonly kind: 'answer-lost' }
  /** Told as indefinite; lands after `ms`, or when the test says so. */
  | { readonly kind: 'late'; readonly ms?: number }
  /** Answered rightly; a second copy lands after `ms`, or when the test says so. `ofApplied`: none of a write that was refused. */
  | { readonly kind: 'doubled'; readonly ms?: number; readonly ofApplied?: boolean }
  /** Reaches the table late, or its answer comes late. */
  | { readonly kind: 'delayed' | 'answer-delayed'; readonly ms: number }
  /** No answer until the caller gives up; applied all the same, or not. */
  | { readonly kind: 'hangs'; readonly applied: boolean };

export type FaultyTable = MetadataTable & {
  readonly late: LateEffects;
  /** Every call with the fault that it met. */
  readonly calls: readonly { readonly call: TableCall; readonly fault: TableFault | undefined }[];
  /** Calls that met a fault, so far. */
  faults(): number;
};

const forEver = new AbortController().signal;

/** A table that fails as real ones do, at the calls that `choose` names. */
export function createFaultyTable(
  table: MetadataTable,
  { choose, clock }: { readonly choose: Choose<TableCall, TableFault>; readonly clock: Clock },
): FaultyTable {
  const late = createLateEffects(clock);
  const calls: { call: TableCall; fault: TableFault | undefined }[] = [];

  function met(call: TableCall): TableFault | undefined {
    const fault = choose(call);
    calls.push({ call, fault });
    return fault;
  }

  async function read<T>(call: TableCall, run: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const fault = met(call);
    if (fault === undefined || fault.kind === 'doubled') return run(signal);
    if (fault.kind === 'hangs') return untilAborted(signal);
    if (fault.kind !== 'delayed' && fault.kind !== 'answer-delayed') throw errorOf('read', fault);
    if (fault.kind === 'delayed') await clock.sleep(fault.ms, signal);
    const result = await run(signal);
    if (fault.kind === 'answer-delayed') await clock.sleep(fault.ms, signal);
    return result;
  }

  async function write(call: TableCall, run: (signal: AbortSignal) => Promise<WriteResult>, signal: AbortSignal): Promise<WriteResult> {
    signal.throwIfAborted();
    const fault = met(call);
    if (fault === undefined) return run(signal);
    try {
      return await writeUnder(fault, { call, run, signal });
    } catch (error) {
      // As the port says: given up on the way, a write is indefinite.
      if (signal.aborted) throw new KelpError('indefinite', 'table-indefinite', 'given up', { cause: signal.reason });
      throw error;
    }
  }

  async function writeUnder(fault: TableFault, { call, run, signal }: Running): Promise<WriteResult> {
    const what = `${call.op} ${call.key.pk} ${call.key.sk ?? ''}`;
    if (fault.kind === 'late') late.add(what, () => run(forEver), fault.ms);
    if (fault.kind === 'answer-lost' || (fault.kind === 'hangs' && fault.applied)) await run(forEver);
    if (fault.kind === 'hangs') return untilAborted(signal);
    if (fault.kind === 'delayed') await clock.sleep(fault.ms, signal);
    if (fault.kind !== 'doubled' && fault.kind !== 'delayed' && fault.kind !== 'answer-delayed') throw errorOf('write', fault);
    const result = await run(signal);
    if (fault.kind === 'doubled' && (result.applied || fault.ofApplied !== true)) late.add(`copy of ${what}`, () => run(forEver), fault.ms);
    if (fault.kind === 'answer-delayed') await clock.sleep(fault.ms, signal);
    return result;
  }

  return {
    late,
    calls,
    faults: () => calls.filter(({ fault }) => fault !== undefined).length,
    get: (key, signal) => read({ op: 'get', key }, (own) => table.get(key, own), signal),
    query: (query, signal) => read<QueryPage>({ op: 'query', key: { pk: query.pk } }, (own) => table.query(query, own), signal),
    put: (key, item, condition, signal) => write({ op: 'put', key, item }, (own) => table.put(key, item, condition, own), signal),
    update: (key, update, signal) => write({ op: 'update', key, update }, (own) => table.update(key, update, own), signal),
    delete: (key, condition, signal) => write({ op: 'delete', key }, (own) => table.delete(key, condition, own), signal),
  };
}

type Running = {
  readonly call: TableCall;
  readonly run: (signal: AbortSignal) => Promise<WriteResult>;
  readonly signal: AbortSignal;
};

/** A rule for calls of a kind on a key; what is left out matches everything. */
export function onTable(
  match: { readonly op?: TableCall['op']; readonly key?: Partial<Key>; readonly nth?: number },
  fault: TableFault,
): Rule<TableCall, TableFault> {
  const { op, key = {}, nth } = match;
  return {
    match: (call) =>
      (op === undefined || call.op === op) &&
      (key.pk === undefined || call.key.pk === key.pk) &&
      (key.sk === undefined || call.key.sk === key.sk),
    ...(nth === undefined ? {} : { nth }),
    fault,
  };
}

function errorOf(access: 'read' | 'write', { kind }: TableFault): KelpError {
  if (kind === 'throttled') return new KelpError('throttled', 'table-throttled', 'planted');
  if (kind === 'conflict') return new KelpError('conflict', 'table-conflict', 'planted');
  if (kind === 'unreachable' || access === 'read') return new KelpError('unavailable', 'table-unavailable', 'planted');
  return new KelpError('indefinite', 'table-indefinite', 'planted');
}

export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
