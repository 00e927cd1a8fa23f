import { describeFindings, type Finding } from '../demo/audit.ts';
import {
  type ChangeSpan,
  changesOf,
  dueWithin,
  firstBelowMs,
  latencyOf,
  openAt,
  p99Of,
  reliefAfterMs,
  reliefMsMax,
  type Span,
  WINDOW_MS,
} from './flood-figures.ts';
import { type Phase, type Publish, WRITERS_DEFAULT } from './flood-writers.ts';
import type { Bench } from './measure.ts';
import { percentile } from './percentile.ts';
import { type Row, toRow } from './row.ts';
import type { TableCounts } from './throttled-table.ts';
import type { ScaleEvent, Segment } from './topic.ts';

const SECOND_MS = 1_000;

/** What the table has taken and refused so far. */
export type TableMoment = { readonly atMs: number } & TableCounts;

export type Flood = {
  readonly phases: readonly Phase[];
  /** By phase; absent: WRITERS_DEFAULT in each. */
  readonly writers?: Readonly<Record<string, number>>;
  readonly beginMs: number;
  readonly published: readonly Publish[];
  readonly table: readonly TableMoment[];
  readonly segments: readonly Segment[];
  readonly events: readonly ScaleEvent[];
  readonly findings: readonly Finding[];
};

/** A row for each phase, for each change of segments, and for the whole; and a line for each second. */
export function recordFlood({ record, note, say }: Bench, name: string, flood: Flood): void {
  const { published, segments, findings } = flood;
  const during = spanOf(flood, 'during');
  for (const line of secondsOf(flood, during)) note({ kind: 'second', case: name, ...line });
  for (const phase of flood.phases) {
    const label = `${phase.perSecond} messages a second, one a request, ${flood.writers?.[phase.name] ?? WRITERS_DEFAULT} writers`;
    record(rowOf({ case: `${name} ${phase.name}`, label }, dueWithin(published, spanOf(flood, phase.name)), phase.seconds));
  }
  for (const change of changesOf(segments)) record(rowOfChange(name, change, { flood, during }));
  const calmP99Ms = p99Of(dueWithin(published, spanOf(flood, 'before')));
  const p99MsMax = reliefMsMax(calmP99Ms);
  const reliefMs = reliefAfterMs(published, during, p99MsMax);
  const seconds = flood.phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const unsent = published.filter(({ outcome }) => outcome === 'unsent').length;
  const refused = refusedUntil(flood, during);
  const first = firstBelowMs(published, during, p99MsMax);
  const below = `p99 below ${p99MsMax.toFixed(0)} ms ${first === undefined ? 'never' : `first at ${first / SECOND_MS} s`}`;
  const label = `all of it; ${unsent} unsent; the table refused until ${refused} s; ${below}`;
  if (findings.length > 0) say(`${name}: ${describeFindings(findings)}`);
  record({
    ...rowOf({ case: name, label }, published, seconds),
    faults: findings.reduce((sum, { count }) => sum + count, 0),
    unretryable: published.filter(({ outcome, isRetryable }) => outcome === 'failed' && isRetryable !== true).length,
    ...(reliefMs === undefined ? {} : { reliefSeconds: reliefMs / SECOND_MS }),
  });
}

function spanOf({ phases, beginMs }: Flood, name: Phase['name']): Span {
  const at = phases.findIndex((phase) => phase.name === name);
  const fromMs = phases.slice(0, at).reduce((ms, { seconds }) => ms + seconds * SECOND_MS, beginMs);
  return { fromMs, toMs: fromMs + (phases[at]?.seconds ?? 0) * SECOND_MS };
}

/** The last second of the flood in which the table refused anything, from its begin on. */
function refusedUntil({ table }: Flood, { fromMs, toMs }: Span): number {
  const moments = table.filter(({ atMs, refused }, at) => atMs <= toMs && refused > (table[at - 1]?.refused ?? refused));
  return Math.max(0, Math.ceil(((moments.at(-1)?.atMs ?? fromMs) - fromMs) / SECOND_MS));
}

/** How long it took from when it was due, also what was never sent. */
function rowOf(names: Pick<Row, 'case' | 'label'>, published: readonly Publish[], seconds: number): Row {
  const acked = published.filter(({ outcome }) => outcome === 'acknowledged');
  const failures = published.flatMap(({ failure }) => failure ?? []);
  const latencies = published.map(latencyOf);
  const result = {
    requests: acked.length,
    errors: failures.length,
    ...(failures[0] === undefined ? {} : { firstError: failures[0] }),
    bytes: 0,
    seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    cpuSeconds: 0,
  };
  const payload = { messages: acked.length, bytes: 0 };
  const row = toRow({ names: { kind: 'kelp', client: 'lean', ...names }, result, payload, costs: { cpuSeconds: {} } });
  const refused = published.reduce((sum, { refusedMs }) => sum + refusedMs.length, 0);
  return { ...row, longestMs: latencies.reduce((most, ms) => Math.max(most, ms), 0), refused };
}

/** Of those that were on their way meanwhile; beside them those due just before and just after. */
function rowOfChange(name: string, change: ChangeSpan, { flood, during }: { readonly flood: Flood; readonly during: Span }): Row {
  const { fromMs, toMs, openBefore, openAfter } = change;
  const { published, segments, events } = flood;
  const opened = new Set(segments.flatMap(({ segment, openedMs = 0 }) => (openedMs >= fromMs && openedMs <= toMs ? [segment] : [])));
  const made = events.filter(({ children }) => children.some((child) => opened.has(child)));
  const why = [...new Set(made.map(({ reason }) => reason?.why ?? 'by hand'))].join(', ');
  const [before, after] = [
    { fromMs: fromMs - WINDOW_MS, toMs: fromMs },
    { fromMs: toMs, toMs: toMs + WINDOW_MS },
  ].map((span) => p99Of(dueWithin(published, span)).toFixed(0));
  const when = `${((fromMs - during.fromMs) / SECOND_MS).toFixed(1)} s into it, ${openBefore} → ${openAfter} segments (${why})`;
  const label = `${when}: p99 ${before} ms before, ${after} ms after`;
  const meanwhile = published.filter(({ dueMs, endedMs }) => dueMs <= toMs && endedMs >= fromMs);
  return rowOf({ case: `${name} change`, label }, meanwhile, Math.max(1, toMs - fromMs) / SECOND_MS);
}

/** Second by second, counted from the begin of the flood. `units` and `throttled`: of the table, all of its keys. */
function secondsOf({ published, table, segments }: Flood, during: Span): object[] {
  return table.slice(1).map((moment, at) => {
    const last = table[at] as TableMoment;
    const due = dueWithin(published, { fromMs: last.atMs, toMs: moment.atMs });
    const latencies = due.map(latencyOf);
    const within = (ms: number): boolean => ms >= last.atMs && ms < moment.atMs;
    return {
      second: Math.round((last.atMs - during.fromMs) / SECOND_MS),
      due: due.length,
      acked: published.filter(({ endedMs, outcome }) => within(endedMs) && outcome === 'acknowledged').length,
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      refused: published.flatMap(({ refusedMs }) => refusedMs).filter(within).length,
      segments: openAt(segments, last.atMs),
      writes: moment.writes - last.writes,
      units: moment.units - last.units,
      throttled: moment.refused - last.refused,
    };
  });
}
