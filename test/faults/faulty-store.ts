import { KelpError } from '../../src/model/errors.ts';
import type { Bytes } from '../../src/model/message.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { Choose, Rule } from './choose.ts';
import { untilAborted } from './faulty-table.ts';
import { type LateEffects, createLateEffects } from './late-effects.ts';

export type StoreCall = {
  readonly op: 'put' | 'getRange' | 'head' | 'list' | 'delete';
  /** Or the prefix of a list. */ readonly key: string;
};

export type StoreFault =
  /** 503 SlowDown: surely not stored. */
  | { readonly kind: 'slow-down' }
  | { readonly kind: 'unreachable' }
  /** A 500 or a cut answer. A put is indefinite, and was not stored. */
  | { readonly kind: 'failed' }
  /** Stored or deleted, but its answer is lost. */
  | { readonly kind: 'answer-lost' }
  /** A put or delete that is told as failed and lands after `ms`, or when the test says so. */
  | { readonly kind: 'late'; readonly ms?: number }
  /** Answered rightly; a second copy lands after `ms`, or when the test says so. */
  | { readonly kind: 'doubled'; readonly ms?: number }
  | { readonly kind: 'delayed'; readonly ms: number }
  | { readonly kind: 'hangs' }
  /** A read finds no object (as a HEAD does then), or only the first half of what it asked for, or one bit of it flipped. */
  | { readonly kind: 'missing' | 'truncated' }
  | { readonly kind: 'flipped'; /** Of all bits of the answer, in [0, 1). */ readonly at: number };

export type FaultyStore = ObjectStore & {
  readonly late: LateEffects;
  readonly calls: readonly { readonly call: StoreCall; readonly fault: StoreFault | undefined }[];
  /** Calls that met a fault, so far. */
  faults(): number;
};

const forEver = new AbortController().signal;

/** A store that fails as real ones do, at the calls that `choose` names. */
export function createFaultyStore(
  store: ObjectStore,
  { choose, clock }: { readonly choose: Choose<StoreCall, StoreFault>; readonly clock: Clock },
): FaultyStore {
  const late = createLateEffects(clock);
  const calls: { call: StoreCall; fault: StoreFault | undefined }[] = [];

  async function under<T>(call: StoreCall, run: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const fault = choose(call);
    calls.push({ call, fault });
    if (fault === undefined) return run(signal);
    if (fault.kind === 'hangs') return untilAborted(signal);
    const changes = call.op === 'put' || call.op === 'delete';
    if (fault.kind === 'late' && changes) late.add(`${call.op} ${call.key}`, () => run(forEver), fault.ms);
    if (fault.kind === 'answer-lost' && changes) await run(forEver);
    if (fault.kind === 'delayed') await clock.sleep(fault.ms, signal);
    const error = errorOf(call, fault);
    if (error !== undefined) throw error;
    if (fault.kind === 'missing' && call.op === 'head') return undefined as T;
    const result = await run(signal);
    if (fault.kind === 'doubled' && changes) late.add(`copy of ${call.op} ${call.key}`, () => run(forEver), fault.ms);
    return call.op === 'getRange' ? (damaged(result as Bytes, fault) as T) : result;
  }

  return {
    late,
    calls,
    faults: () => calls.filter(({ fault }) => fault !== undefined).length,
    put(key, body, signal) {
      // A late copy must have the bytes of now.
      const bytes = new Uint8Array(Buffer.concat(body));
      return under({ op: 'put', key }, (own) => store.put(key, [bytes], own), signal);
    },
    getRange: (key, start, length, signal) => under({ op: 'getRange', key }, (own) => store.getRange(key, start, length, own), signal),
    head: (key, signal) => under({ op: 'head', key }, (own) => store.head(key, own), signal),
    list: (prefix, page, signal) => under({ op: 'list', key: prefix }, (own) => store.list(prefix, page, own), signal),
    delete: (key, signal) => under({ op: 'delete', key }, (own) => store.delete(key, own), signal),
  };
}

/** A rule for calls of a kind on a key or on keys below a prefix; what is left out matches everything. */
export function onStore(
  match: { readonly op?: StoreCall['op']; readonly key?: string; readonly prefix?: string; readonly nth?: number },
  fault: StoreFault,
): Rule<StoreCall, StoreFault> {
  const { op, key, prefix = '', nth } = match;
  return {
    match: (call) => (op === undefined || call.op === op) && (key === undefined || call.key === key) && call.key.startsWith(prefix),
    ...(nth === undefined ? {} : { nth }),
    fault,
  };
}

function errorOf({ op }: StoreCall, { kind }: StoreFault): KelpError | undefined {
  if (kind === 'slow-down') return new KelpError('throttled', 'store-throttled', 'planted');
  if (kind === 'unreachable') return new KelpError('unavailable', 'store-unavailable', 'planted');
  if (kind === 'missing' && op === 'getRange') return new KelpError('not-found', 'object-not-found', 'planted');
  if (kind !== 'failed' && kind !== 'answer-lost' && kind !== 'late') return undefined;
  if (op === 'put') return new KelpError('indefinite', 'store-indefinite', 'planted');
  return new KelpError('unavailable', 'store-unavailable', 'planted');
}

function damaged(bytes: Bytes, fault: StoreFault): Bytes {
  if (fault.kind === 'truncated') return bytes.slice(0, Math.floor(bytes.length / 2));
  if (fault.kind !== 'flipped' || bytes.length === 0) return bytes;
  const copy = bytes.slice();
  const bit = Math.floor(fault.at * bytes.length * 8);
  const index = bit >>> 3;
  copy[index] = (copy[index] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
