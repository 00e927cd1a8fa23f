import { expect, test } from 'vitest';
import type { Address } from '../../infra/demo/audit.ts';
import { loadFlights, type Flight } from '../../infra/demo/flights.ts';
import type { KelpClient, Page } from '../../infra/demo/kelp-client.ts';
import { countOperations } from '../../infra/demo/operations.ts';
import { publishFlights } from '../../infra/demo/publish-flights.ts';
import { runDemo, type DemoResult } from '../../infra/demo/run-demo.ts';
import { formatSummary } from '../../infra/demo/summary.ts';

type Sent = { readonly key: string; readonly value: unknown };
type Stored = Page['messages'][number];
type Log = { readonly messages: Stored[]; readonly client: KelpClient };

const PAGE = 700;
const METRIC = 'kelp_store_operation_duration_seconds_count';
const { signal } = new AbortController();

/** A log of one segment in memory that stores the last request first, so that only lanes keep a key's order. */
function createLog(change: (messages: Stored[]) => Stored[] = (messages) => messages): Log {
  const messages: Stored[] = [];
  const waiting: (() => void)[] = [];
  let requests = 0;

  function storeWaiting(): void {
    for (const next of waiting.splice(0).toReversed()) next();
  }

  function store(body: string): Address[] {
    return (JSON.parse(body) as { messages: Sent[] }).messages.map(({ key, value }) => {
      const address = { segment: 's0000000', offset: messages.length };
      messages.push({ ...address, key, value });
      return address;
    });
  }

  const client: KelpClient = {
    createTopic: () => Promise.resolve(),
    deleteTopic: () => Promise.resolve(),
    changes: () => Promise.resolve({ splits: 2, merges: 1 }),
    metrics: () => Promise.resolve(`${METRIC}{operation="put",outcome="ok"} ${requests}`),
    publish(body) {
      requests += 1;
      if (waiting.length === 0) setImmediate(storeWaiting);
      return new Promise((resolve) => waiting.push(() => resolve(store(body))));
    },
    read(cursor) {
      const from = cursor === 'earliest' ? 0 : Number(cursor);
      const page = change(messages).slice(from, from + PAGE);
      return Promise.resolve({ messages: page, cursor: String(from + page.length), bytes: page.length });
    },
  };
  return { messages, client };
}

function demo({ client }: Log, rows: number): Promise<DemoResult> {
  const screen = { write: () => true };
  return runDemo({ client, flights: loadFlights(rows), rows, segments: 1, screen, nowMs: () => performance.now(), signal });
}

test('flights go in and come back in order', async () => {
  const { summary, findings } = await demo(createLog(), 25_000);
  expect(findings).toEqual([]);
  expect(summary).toMatchObject({ publish: { rows: 25_000 }, read: { rows: 25_000 }, segments: 1, changes: { splits: 2, merges: 1 } });
  expect(summary.objects).toBe(summary.publish.requests);
  expect(summary.keys).toBeGreaterThan(100);
});

test.each<[string, (messages: Stored[]) => Stored[], string]>([
  ['loss', (messages) => messages.toSpliced(1_234, 1), 'lost'],
  ['duplicate', (messages) => messages.toSpliced(1_234, 0, messages[17]!), 'doubled'],
  ['swap', (messages) => swapped(messages), 'out of order'],
])('a planted %s is found', async (_, change, fault) => {
  const { findings } = await demo(createLog(change), 3_000);
  expect(findings.map((finding) => finding.fault)).toContain(fault);
});

/** The first and the last message of a key. */
function swapped(messages: Stored[]): Stored[] {
  const last = messages.findLastIndex(({ key }) => key === messages[0]!.key);
  return messages.with(0, messages[last]!).with(last, messages[0]!);
}

const flights: Flight[] = ['ATL', 'ORD', 'ATL'].map((key, row) => ({
  row,
  key,
  value: JSON.stringify({ row, origin: key }),
  timestampMs: 0,
}));

const nothing = (): void => undefined;

async function* threeFlights(): AsyncGenerator<Flight[]> {
  yield await Promise.resolve(flights);
}

function publish(client: Pick<KelpClient, 'publish'>): ReturnType<typeof publishFlights> {
  return publishFlights({ client, flights: threeFlights(), onSent: nothing, onAcknowledged: nothing, onProgress: nothing, signal });
}

const refused = { code: 'unavailable', detail: 'queue full', retryable: true, indefinite: false, retryAfterMs: 0 };

test('what was refused goes again, in order, and nothing else', async () => {
  const { client, messages } = createLog();
  let refusals = 2;
  const sums = await publish({
    async publish(body, count) {
      if (count < 2 || refusals-- <= 0) return client.publish(body, count);
      const sent = (JSON.parse(body) as { messages: Sent[] }).messages;
      return [...(await client.publish(JSON.stringify({ messages: sent.slice(0, -1) }), count - 1)), refused];
    },
  });
  expect(messages.filter(({ key }) => key === 'ATL').map(({ value }) => (value as { row: number }).row)).toEqual([0, 2]);
  expect(messages).toHaveLength(3);
  expect(sums.rows).toBe(3);
});

test.each([
  ['an outcome that is unknown', { ...refused, code: 'indefinite', indefinite: true }],
  ['a refusal that is final', { ...refused, code: 'topic-not-found', retryable: false }],
])('%s ends the demo', async (_, problem) => {
  const answers = publish({ publish: (_body, count) => Promise.resolve(Array.from({ length: count }, () => problem)) });
  await expect(answers).rejects.toMatchObject({ code: problem.code });
});

test('operations are added up over their labels', () => {
  const samples = [
    `# TYPE ${METRIC} counter`,
    `${METRIC}{operation="put",outcome="ok"} 3`,
    `${METRIC}{operation="put",outcome="store-indefinite"} 1`,
    `${METRIC}{operation="get",outcome="ok"} 50`,
    'kelp_table_operation_duration_seconds_count{operation="update",outcome="ok"} 7',
    'kelp_table_operation_duration_seconds_count{operation="get",outcome="ok"} 1e3',
    'kelp_table_operation_duration_seconds_sum{operation="get",outcome="ok"} 0.5',
  ];
  expect(countOperations(samples.join('\n'))).toEqual({ puts: 4, tableOperations: 1_007 });
  expect(countOperations('')).toEqual({ puts: 0, tableOperations: 0 });
});

test('the summary lines up', () => {
  const publishing = { rows: 200_000, bytes: 1_048_576, requests: 201, seconds: 2 };
  const read = { rows: 200_000, bytes: 2_097_152, requests: 21, seconds: 1 };
  const summary = { publish: publishing, read, keys: 229, segments: 4, changes: { splits: 0, merges: 0 }, objects: 1_234 };
  expect(formatSummary(summary).split('\n')).toEqual([
    '             rows   MiB   requests   seconds    rows/s',
    'publish   200,000   1.0        201       2.0   100,000',
    'read      200,000   2.0         21       1.0   200,000',
    '',
    '229 keys, 4 segments, 1,234 objects',
  ]);
  expect(formatSummary({ ...summary, changes: { splits: 3, merges: 1 } })).toContain('4 segments (splits: 3, merges: 1), ');
});
