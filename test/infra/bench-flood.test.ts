import { expect, test } from 'vitest';
import { judgeFlood } from '../../infra/bench/flood-aims.ts';
import { changesOf, firstBelowMs, reliefAfterMs, reliefMsMax } from '../../infra/bench/flood-figures.ts';
import { recordFlood } from '../../infra/bench/flood-rows.ts';
import { messagesOf, type Publish, type Phase, wallMs, writeFlood } from '../../infra/bench/flood-writers.ts';
import type { Bench } from '../../infra/bench/measure.ts';
import type { Row } from '../../infra/bench/row.ts';
import { createWriteRate } from '../../infra/bench/write-rate.ts';
import { createAudit } from '../../infra/demo/audit.ts';
import type { KelpClient } from '../../infra/demo/kelp-client.ts';

const { signal } = new AbortController();
const FLOOD = { fromMs: 0, toMs: 30_000 };

/** One message each 100 ms, which takes as long as `latencyMs` says. */
function publishedAt(latencyMs: (dueMs: number) => number): Publish[] {
  return Array.from({ length: 300 }, (_, n) => {
    const dueMs = n * 100;
    return { dueMs, endedMs: dueMs + latencyMs(dueMs), refusedMs: [], outcome: 'acknowledged' };
  });
}

test('relief is the first moment from which no window is too slow, to the end', () => {
  const slowUntil = (ms: number) => publishedAt((dueMs) => (dueMs < ms ? 500 : 10));
  expect(reliefAfterMs(slowUntil(0), FLOOD, 60)).toBe(0);
  expect(reliefAfterMs(slowUntil(12_000), FLOOD, 60)).toBe(12_000);
  expect(reliefAfterMs(slowUntil(30_000), FLOOD, 60)).toBeUndefined();
  // What gets slow again is not relieved before that.
  const again = publishedAt((dueMs) => (dueMs < 5_000 || (dueMs >= 15_000 && dueMs < 16_000) ? 500 : 10));
  expect(reliefAfterMs(again, FLOOD, 60)).toBe(16_000);
  expect(firstBelowMs(again, FLOOD, 60)).toBe(5_000);
  expect(firstBelowMs(slowUntil(30_000), FLOOD, 60)).toBeUndefined();
});

test('what is to be reached allows for a few milliseconds, and for half as much again', () => {
  expect(reliefMsMax(10)).toBe(60);
  expect(reliefMsMax(200)).toBe(300);
});

test('changes at about the same time are one, and the creation is none', () => {
  const segments = [
    { segment: 'a', openedMs: 1_000, endedMs: 5_000 },
    { segment: 'b', openedMs: 5_020, endedMs: 9_000 },
    { segment: 'c', openedMs: 5_030, endedMs: 9_400 },
    ...['d', 'e', 'f', 'g'].map((segment) => ({ segment, openedMs: 9_500 })),
  ];
  expect(changesOf(segments)).toEqual([
    { fromMs: 5_000, toMs: 5_030, openBefore: 1, openAfter: 2 },
    { fromMs: 9_000, toMs: 9_500, openBefore: 2, openAfter: 4 },
  ]);
  expect(changesOf([{ segment: 'a', openedMs: 1_000 }])).toEqual([]);
});

const PHASES: readonly Phase[] = [
  { name: 'before', seconds: 1, perSecond: 20 },
  { name: 'during', seconds: 1, perSecond: 200 },
];
type Publishing = Pick<KelpClient, 'publish'>;

/** Takes each message at the address that its row has; refuses as it is told to. */
function storing(refusal: (attempt: number) => { code: string; retryable: boolean; indefinite: boolean } | undefined): Publishing {
  let attempts = 0;
  return {
    publish() {
      attempts += 1;
      const problem = refusal(attempts);
      return Promise.resolve([problem === undefined ? { segment: 's', offset: attempts } : { ...problem, detail: '', retryAfterMs: 1 }]);
    },
  };
}

test('writers send everything once in time, and again what was refused', { timeout: 20_000 }, async () => {
  const sent: string[] = [];
  const audit = {
    ...createAudit(messagesOf(PHASES)),
    acknowledged: ({ key, row }: { key: string; row: number }) => void sent.push(`${key} ${row}`),
  };
  const throttled = { code: 'throttled', retryable: true, indefinite: false };
  const clients = [storing((attempt) => (attempt % 10 === 0 ? throttled : undefined))];
  const published = await writeFlood({ clients, phases: PHASES, beginMs: wallMs() + 100, audit, signal });
  expect(published.flatMap(({ refusedMs }) => refusedMs).length).toBeGreaterThan(10);
  expect(new Set(sent).size).toBe(sent.length);
  expect(published).toHaveLength(messagesOf(PHASES));
  expect(published.filter(({ outcome }) => outcome === 'acknowledged')).toHaveLength(sent.length);
  expect(published.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  expect(sent.length).toBeGreaterThan(100);
});

test.each([
  ['what may have been stored', { code: 'indefinite', retryable: true, indefinite: true }],
  ['what is refused for good', { code: 'topic-not-found', retryable: false, indefinite: false }],
])('%s has failed, and is not sent again', { timeout: 20_000 }, async (_, problem) => {
  const clients = [storing((attempt) => (attempt === 3 ? problem : undefined))];
  const audit = createAudit(messagesOf(PHASES));
  const published = await writeFlood({ clients, phases: PHASES, beginMs: wallMs() + 100, audit, signal });
  expect(published.flatMap(({ failure }) => failure ?? [])).toEqual([problem.code]);
});

test('a flood becomes a row a phase, a change and for the whole, and a line a second', () => {
  const rows: Row[] = [];
  const lines: object[] = [];
  const bench = { record: (row: Row) => void rows.push(row), note: (line: object) => void lines.push(line), say: () => undefined };
  const published = publishedAt((dueMs) => (dueMs >= 10_000 && dueMs < 14_000 ? 1_000 : 10)).map((publish) => ({
    ...publish,
    refusedMs: [publish.dueMs],
  }));
  recordFlood(bench as unknown as Bench, 'm', {
    phases: [
      { name: 'before', seconds: 10, perSecond: 10 },
      { name: 'during', seconds: 10, perSecond: 10 },
      { name: 'after', seconds: 10, perSecond: 10 },
    ],
    beginMs: 0,
    published,
    table: [0, 1_000, 12_600].map((atMs) => ({ atMs, writes: atMs / 100, units: atMs / 50, refused: Math.floor(atMs / 10_000) * 7 })),
    segments: [
      { segment: 'a', lo: 0, hi: 9, tail: 5, openedMs: -100, endedMs: 13_000 },
      { segment: 'b', lo: 0, hi: 4, tail: 5, openedMs: 13_050 },
      { segment: 'c', lo: 5, hi: 9, tail: 5, openedMs: 13_050 },
    ],
    events: [{ kind: 'split', children: ['b', 'c'], reason: { why: 'throttled' } }],
    findings: [{ fault: 'lost', count: 2, example: 'row 1' }],
  });
  expect(rows.map(({ case: name }) => name)).toEqual(['m before', 'm during', 'm after', 'm change', 'm']);
  expect(rows[3]?.label).toBe('3.0 s into it, 1 → 2 segments (throttled): p99 1000 ms before, 1000 ms after');
  expect(rows[4]?.label).toBe('all of it; 0 unsent; the table refused until 3 s; p99 below 60 ms first at 4 s');
  expect(rows[4]).toMatchObject({ requests: 300, errors: 0, faults: 2, refused: 300, reliefSeconds: 4 });
  expect(lines).toEqual([
    expect.objectContaining({ second: -10, due: 10, refused: 10, segments: 1, writes: 10, units: 20, throttled: 0 }),
    expect.objectContaining({ second: -9, due: 116, refused: 116, segments: 1, writes: 116, units: 232, throttled: 7 }),
  ]);
  expect(judgeFlood(rows).map(({ met }) => met)).toEqual([true, false, true]);
  const failed = rows.map((row) => (row.case === 'm' ? { ...row, errors: 1, faults: 0, reliefSeconds: undefined } : row)) as Row[];
  expect(judgeFlood(failed).map(({ met }) => met)).toEqual([false, true, false]);
});

test('units come with time, up to a burst', () => {
  let nowMs = 0;
  const rate = createWriteRate({ unitsPerSecond: 10, burstSeconds: 2, nowMs: () => nowMs });
  const admitted = (units: number): number => Array.from({ length: 50 }, () => rate.admit('key', units)).filter(Boolean).length;
  expect(admitted(1)).toBe(20);
  nowMs += 1_000;
  expect(admitted(4)).toBe(3);
  nowMs += 60_000;
  expect(admitted(1)).toBe(20);
});
