import type { LoadResult } from './load.ts';
import { percentile } from './percentile.ts';

/** Processor seconds by process; absent where the system doesn't tell. */
export type CpuSeconds = { readonly load: number; readonly broker?: number; readonly table?: number; readonly weed?: number };
/** What the same hardware made beside it, by the same measure, and the part of it that was reached. */
export type Reference = {
  readonly what: string;
  readonly perSecond: number;
  readonly unit: 'MiB' | 'requests' | 'messages';
  readonly ratio: number;
};

export type FileSizes = { readonly count: number; readonly bytes: number; readonly batchBytes: number; readonly ndjsonGzBytes: number };

/** One measurement: a JSON line, and a line of the table. */
export type Row = {
  /** `sweep` looks for the best shape, `beside` is what the next or last row of `kelp` is held against: neither is in the table. */
  readonly kind: 'sweep' | 'beside' | 'raw' | 'kelp';
  readonly case: string;
  readonly label: string;
  /** The program that made the load. */
  readonly client: 'native' | 'lean' | 'archiver';
  readonly seconds: number;
  readonly requests: number;
  readonly errors: number;
  readonly firstError?: string;
  /** Objects or updates, where it is raw. */
  readonly messages: number;
  readonly messagesPerSecond: number;
  /** Of values, uncompressed. */
  readonly mebibytesPerSecond: number;
  readonly reference?: Reference;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly endToEndP50Ms?: number;
  readonly endToEndP99Ms?: number;
  readonly cpuSeconds: CpuSeconds;
  readonly brokerPeakBytes?: number;
  /** The same of the program that made the load. */
  readonly loadPeakBytes?: number;
  /** What of all messages is in files; what batches and compressed lines of JSON take of the same ones. */
  readonly files?: FileSizes;
  /** By how much that is above what it has while it does nothing. */
  readonly brokerMoreBytes?: number;
  /** The broker's processor time behind the load, until it has looked at all that was uploaded. */
  readonly brokerBehindSeconds?: number;
  readonly putsPerThousand?: number;
  readonly tableOperationsPerThousand?: number;
  /** The slowest of all requests. */
  readonly longestMs?: number;
  /** From the begin of a flood until publishes take no longer than before; absent: they did to its end. */
  readonly reliefSeconds?: number;
  /** Answers that told a writer to come again. */
  readonly refused?: number;
  /** Publishes that ended with an error that does not say that they may be sent again. */
  readonly unretryable?: number;
  /** Messages that were read back lost, doubled, changed or out of their key's order. */
  readonly faults?: number;
  /** Of the broker that asked the table most often, while nobody asked anything of it. */
  readonly idleTableOperationsPerMinute?: number;
};

export type RowNames = Pick<Row, 'kind' | 'case' | 'label' | 'client'>;
export type Payload = { readonly messages: number; readonly bytes: number };
export type Costs = {
  readonly cpuSeconds: Omit<CpuSeconds, 'load'>;
  readonly brokerPeakBytes?: number;
  readonly operations?: { readonly puts: number; readonly tableOperations: number };
};

const MEBIBYTE = 1_048_576;

export type Measured = { readonly names: RowNames; readonly result: LoadResult; readonly payload: Payload; readonly costs: Costs };

export function toRow({ names, result, payload, costs }: Measured): Row {
  const { messages, bytes } = payload;
  const { requests, errors, firstError, seconds, p50Ms, p99Ms, endToEndP50Ms, endToEndP99Ms, cpuSeconds, peakBytes } = result;
  const { operations, brokerPeakBytes } = costs;
  return {
    ...names,
    seconds,
    requests,
    errors,
    ...(firstError === undefined ? {} : { firstError }),
    messages,
    messagesPerSecond: messages / seconds,
    mebibytesPerSecond: bytes / MEBIBYTE / seconds,
    p50Ms,
    p99Ms,
    ...(endToEndP50Ms === undefined ? {} : { endToEndP50Ms }),
    ...(endToEndP99Ms === undefined ? {} : { endToEndP99Ms }),
    cpuSeconds: { load: cpuSeconds, ...costs.cpuSeconds },
    ...(brokerPeakBytes === undefined ? {} : { brokerPeakBytes }),
    ...(peakBytes === undefined ? {} : { loadPeakBytes: peakBytes }),
    ...(operations === undefined ? {} : perThousand(operations, messages)),
  };
}

type OwnNames = Pick<Row, 'case' | 'label'>;

/** Of how long something took each time: there is no load, and the slowest counts. */
export function rowOfTimes(names: OwnNames, timesMs: readonly number[]): Row {
  const seconds = timesMs.reduce((sum, ms) => sum + ms, 0) / 1_000;
  const [p50Ms, longestMs] = [percentile(timesMs, 0.5), Math.max(...timesMs)];
  const result = { requests: timesMs.length, errors: 0, bytes: 0, seconds, p50Ms, p99Ms: longestMs, cpuSeconds: 0 };
  const payload = { messages: timesMs.length, bytes: 0 };
  return { ...toRow({ names: { kind: 'kelp', client: 'lean', ...names }, result, payload, costs: { cpuSeconds: {} } }), longestMs };
}

/** Of brokers that nobody asked anything: operations on the table a minute, of each. */
export function rowOfIdle(
  names: OwnNames,
  { perMinute, seconds }: { readonly perMinute: readonly number[]; readonly seconds: number },
): Row {
  const result = { requests: 0, errors: 0, bytes: 0, seconds, p50Ms: 0, p99Ms: 0, cpuSeconds: 0 };
  const row = toRow({
    names: { kind: 'kelp', client: 'lean', ...names },
    result,
    payload: { messages: 0, bytes: 0 },
    costs: { cpuSeconds: {} },
  });
  return { ...row, idleTableOperationsPerMinute: Math.max(...perMinute) };
}

/** The row with how it stands to the mean of what was measured before and after it. */
export function withReference(row: Row, { what, unit }: Pick<Reference, 'what' | 'unit'>, beside: readonly number[]): Row {
  const perSecond = beside.reduce((sum, value) => sum + value, 0) / beside.length;
  const reached = unit === 'MiB' ? row.mebibytesPerSecond : row.messagesPerSecond;
  return { ...row, reference: { what, unit, perSecond, ratio: reached / perSecond } };
}

type PerThousand = Pick<Row, 'putsPerThousand' | 'tableOperationsPerThousand'>;

function perThousand({ puts, tableOperations }: { puts: number; tableOperations: number }, messages: number): PerThousand {
  return { putsPerThousand: (puts / messages) * 1_000, tableOperationsPerThousand: (tableOperations / messages) * 1_000 };
}
