import { setImmediate as nextTurn } from 'node:timers/promises';
import { KelpError } from '../../../src/model/errors.ts';
import type { Item, MetadataTable, WriteResult } from '../../../src/ports/metadata-table.ts';
import { canonical } from './intern.ts';
import type { Answer, Request, SharedTable } from './shared-table.ts';

/**
 * A process: the product's own asynchronous code (or a client of it), in phases. A phase takes the state that the phase
 * before left, works with the table, and answers its own state. Between phases nothing else is remembered, so that
 * different ways to the same state become one.
 */
export type Process = {
  readonly name: string;
  readonly start: ProcessState;
  readonly phases: readonly Phase[];
  /** Whether it may begin, given what the others have reached; asked while it has done nothing. */
  readonly mayBegin?: (stateOf: (process: string) => ProcessState) => boolean;
  /** Whether its requests may fail for good, and its caller stop waiting: within the scope's budgets. */
  readonly mayFail?: boolean;
};
/** `signal`: its caller's, who may stop waiting at any request. */
export type Phase = (table: MetadataTable, state: ProcessState, signal: AbortSignal) => Promise<ProcessState>;

/** One outcome of one message, as its caller saw it. */
export type Result = {
  readonly message: string;
  readonly result: 'acked' | 'duplicate' | 'refused' | 'unknown';
  readonly code?: string;
  readonly segment?: string;
  readonly offset?: number;
  /** The uploads that a refusal speaks of; absent: all that hold the message. */
  readonly objects?: readonly string[];
};

/** `faults`: what the process itself found wrong. */
export type ProcessState = {
  readonly results?: readonly Result[];
  readonly faults?: readonly string[];
  readonly [name: string]: unknown;
};

export type Pending = { readonly index: number; readonly request: number };

/** A point in a process's life: what it has been answered so far in this phase, and what it waits for. */
export type Local = {
  readonly process: number;
  readonly phase: number;
  readonly state: ProcessState;
  readonly history: readonly { readonly index: number; readonly answer: Answer }[];
  readonly pending: readonly Pending[];
};

export type Call = { readonly request: Request; readonly settle: (answer: Answer) => void };

/**
 * Runs a phase from its beginning with the answers of its history, in their order, and tells what it waits for then. The
 * code is deterministic but for its answers, so the history is its whole state.
 */
export async function replay(shared: SharedTable, processes: readonly Process[], local: Omit<Local, 'pending'>): Promise<Local> {
  const process = processes[local.process];
  if (process === undefined) throw new Error('no such process');
  const phase = process.phases[local.phase];
  if (phase === undefined) return { ...local, pending: [] };
  const calls: Call[] = [];
  let end: { readonly state: ProcessState } | undefined;
  let failure: unknown;
  const caller = new AbortController();
  phase(recordingTable(calls), local.state, caller.signal).then(
    (state) => (end = { state }),
    (error: unknown) => (failure = error ?? new Error('failed without a reason')),
  );
  await nextTurn();
  const open = new Set<number>(calls.keys());
  for (const { index, answer } of local.history) {
    const before = calls.length;
    const call = calls[index];
    if (call === undefined) throw new Error(`${process.name} behaves differently when it is run again`);
    if (answer.answer === 'aborted') caller.abort(new Error('the caller stopped waiting'));
    call.settle(answer);
    open.delete(index);
    await nextTurn();
    for (let added = before; added < calls.length; added += 1) open.add(added);
  }
  if (failure !== undefined) throw new Error(`${process.name} failed: ${String(failure)}`, { cause: failure });
  if (end !== undefined)
    return replay(shared, processes, { process: local.process, phase: local.phase + 1, state: end.state, history: [] });
  if (open.size === 0) throw new Error(`${process.name} waits for nothing`);
  return { ...local, pending: [...open].map((index) => ({ index, request: shared.requestId((calls[index] as Call).request) })) };
}

/** Text that is the same for locals that behave the same: between phases, only the state counts. */
export function localText(local: Local): string | undefined {
  return local.history.length === 0 ? `${local.process} ${local.phase} ${canonical(local.state)}` : undefined;
}

/** Each call goes by the signal that the product gives it: what runs in the background has one of its own. */
export function recordingTable(calls: Call[]): MetadataTable {
  const call = async (request: Request, signal: AbortSignal): Promise<Answer> => {
    signal.throwIfAborted();
    return new Promise((resolve) => calls.push({ request, settle: resolve }));
  };
  const write = async (request: Request, signal: AbortSignal): Promise<WriteResult> => {
    const answer = await call(request, signal);
    switch (answer.answer) {
      case 'applied':
        return { applied: true, item: answer.item ?? {} };
      case 'refused':
        return { applied: false, item: answer.item };
      case 'failed':
        throw new KelpError('throttled', 'table-throttled', 'not applied');
      default:
        throw new KelpError('indefinite', 'table-indefinite', 'not answered', { cause: signal.reason });
    }
  };
  const unread = (signal: AbortSignal): unknown =>
    signal.aborted ? signal.reason : new KelpError('unavailable', 'table-unavailable', 'not answered');
  return {
    async get(key, signal): Promise<Item | undefined> {
      const answer = await call({ op: 'get', key }, signal);
      if (answer.answer === 'item') return answer.item;
      throw unread(signal);
    },
    async query(query, signal) {
      const answer = await call({ op: 'query', query }, signal);
      if (answer.answer === 'items') return { items: answer.items, more: answer.more };
      throw unread(signal);
    },
    put: (key, item, condition, signal) => write({ op: 'put', key, item, condition }, signal),
    update: (key, update, signal) => write({ op: 'update', key, update }, signal),
    delete: (key, condition, signal) => write({ op: 'delete', key, condition }, signal),
  };
}
