import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { PARTITIONS } from '../../../src/model/limits.ts';
import { checkHistory } from '../../checkers/check-history.ts';
import type { Read } from '../../checkers/history.ts';
import type { Reply } from '../../clients/call.ts';
import { createLedger } from '../../clients/ledger.ts';
import { writeNumbered } from '../../clients/numbered-writer.ts';
import { followTopic, readPages } from '../../clients/reader.ts';
import { streamTopic } from '../../clients/stream-reader.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { tiles } from '../../topology/tiles.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { ask, expectStatus, openSegmentsOf, scalingOf, segmentsOf, successorsOf } from './fleet-api.ts';
import { type Fleet, START_MS, startFleet } from './fleet.ts';

// Splits and merges over HTTP: three brokers as processes, a real SeaweedFS and a real table.

const TEST_MS = 60_000;
const READ = { timeout: 30_000 };
const HALF = PARTITIONS / 2;
const [S0, S1, S2, S3, S4, S5] = ['s0000000', 's0000001', 's0000002', 's0000003', 's0000004', 's0000005'] as const;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({ environment: () => ({ KELP_REBALANCE_MS: '1000' }) });
}, START_MS);
afterAll(() => fleet.close());

type Answer = { readonly status: number; readonly code?: string; readonly field?: string; readonly text: string };

function answerOf(reply: Reply): Answer {
  if (!reply.answered) throw reply.error;
  return { ...(JSON.parse(reply.text) as Pick<Answer, 'code' | 'field'>), status: reply.status, text: reply.text };
}

const idsOf = ({ text }: Answer): string[] => successorsOf(text).map(({ segment }) => segment);

/** Each request at a broker of its own, all at the same moment; whoever is asked afterwards, the open ranges tile. */
async function atOnce(topic: string, ...requests: readonly (readonly [path: string, body: object])[]): Promise<Answer[]> {
  const asked = requests.map(([path, body], n) => ask(fleet.brokers[n]?.url ?? '', `POST /v1/topics/${topic}/segments/${path}`, { body }));
  const replies = await Promise.all(asked);
  for (const { url } of fleet.brokers) expect((await openSegmentsOf(url, topic)).toSorted((a, b) => a.lo - b.lo)).toSatisfy(tiles);
  return replies.map(answerOf);
}

const split = (segment: string, at: unknown) => [`${segment}/split`, { at }] as const;
const merge = (...segments: readonly string[]) => ['merge', { segments }] as const;

/** One of them is made; whoever wanted another one is told what came of that. */
async function expectOne(topic: string, ...requests: Parameters<typeof atOnce>[1][]): Promise<string[]> {
  const answers = await atOnce(topic, ...requests);
  const made = answers.filter(({ status }) => status === 200);
  const others = answers.filter(({ status }) => status !== 200);
  expect([made.length, ...others.map(({ status, code }) => `${status} ${code}`)]).toEqual([1, ...others.map(() => '409 segment-sealed')]);
  const ids = made.flatMap(idsOf);
  expect(others.map(idsOf)).toEqual(others.map(() => ids));
  return ids;
}

test(
  'F8, J-33: what splits and merges by hand must not do, and of those at one moment one is made',
  async () => {
    const topic = await fleet.topic('by-hand', 1);
    const refusal = async (request: Parameters<typeof atOnce>[1]): Promise<unknown[]> => {
      const [answer] = (await atOnce(topic, request)) as [Answer];
      return [answer.status, answer.code, answer.field];
    };
    expect(await expectOne(topic, split(S0, HALF), split(S0, HALF), split(S0, HALF))).toEqual([S1, S2]);
    expect(await refusal(split(S0, 100))).toEqual([409, 'segment-sealed', undefined]);
    for (const at of [0, PARTITIONS, -1, 1.5, '100', undefined]) expect(await refusal(split(S1, at))).toEqual([400, 'invalid-at', 'at']);
    expect(await expectOne(topic, split(S1, 1))).toEqual([S3, S4]);
    expect(await refusal(split(S3, 1))).toEqual([409, 'not-splittable', undefined]);
    for (const segments of [[S3], [S3, S3]]) expect(await refusal(merge(...segments))).toEqual([400, 'invalid-segments', 'segments']);
    expect(await refusal(merge(S3, S2))).toEqual([409, 'not-neighbours', undefined]);
    expect(await refusal(merge(S4, 's000000z'))).toEqual([404, 'segment-not-found', undefined]);
    expect(await refusal(merge(S1, S2))).toEqual([409, 'segment-sealed', undefined]);
    expect(await expectOne(topic, merge(S4, S3))).toEqual([S5]);
    const last = await expectOne(topic, merge(S5, S2), split(S2, 40_000), merge(S2, S5));
    const events = await scalingOf(fleet.others()[0].url, topic);
    expect(events.map(({ by, children }) => [by, ...children])).toEqual([
      ['hand', ...last],
      ['hand', S5],
      ['hand', S3, S4],
      ['hand', S1, S2],
    ]);
  },
  TEST_MS,
);

test(
  'J-30: readers by cursor, by events, and one that stops between the children: each key in order, children behind their parents',
  async () => {
    const topic = await fleet.topic('lineage', 1);
    const [a, b, c] = fleet.brokers.map(({ url }) => url) as [string, string, string];
    const agent = new Agent({ keepAlive: true });
    const ledger = createLedger();
    let requests = 0;
    const writer = { topic, token: ROOT_TOKEN, agent, ledger, url: () => fleet.brokers[(requests += 1) % fleet.brokers.length]?.url ?? a };
    const publish = (key: string, first: number, last: number): Promise<void> => writeNumbered(writer, key, [first, last]);
    const reader = (url: string, name: string) => ({ topic, token: ROOT_TOKEN, url: () => url, agent, name });
    const [stop, seen] = [new AbortController(), new Map<string, number>()];
    const counted = (url: string, name: string) => ({ ...reader(url, name), onSeen: () => void seen.set(name, (seen.get(name) ?? 0) + 1) });
    const following = [followTopic(counted(a, 'cursor'), stop.signal), streamTopic(counted(b, 'events'), stop.signal)];

    await publish('k0', 1, 1_000);
    expect((await atOnce(topic, split(S0, HALF)))[0]?.status).toBe(200);
    await publish('k0', 1_001, 1_100);
    const stopped = await readPages({ ...reader(c, 'stopped'), cursor: 'earliest', count: 1_100, limit: 500 });
    await publish('k1', 1, 100);
    expect((await atOnce(topic, merge(S1, S2)))[0]?.status).toBe(200);
    await publish('k0', 1_101, 1_101);
    await publish('k1', 101, 101);
    const total = 1_202;
    // Pages so small that one child ends long before the other.
    const resumed = await readPages({ ...reader(a, 'resumed'), cursor: stopped.cursor, count: total - 1_100, limit: 9 });
    await expect.poll(() => [seen.get('cursor'), seen.get('events')], READ).toEqual([total, total]);
    stop.abort();

    const publishes = ledger.publishes();
    expect([publishes.length, ledger.count('acked')]).toEqual([total, total]);
    const whole: Read = { reader: 'stopped and resumed', complete: true, messages: [...stopped.messages, ...resumed.messages] };
    const reads = [...(await Promise.all(following)).map((read): Read => ({ ...read, complete: true })), whole];
    const segments = await segmentsOf(c, topic);
    expect(segments.map(({ tail }) => tail)).toEqual([1_000, 100, 100, 2]);
    expect(checkHistory({ publishes, reads, segments })).toEqual([]);
    agent.destroy();
  },
  TEST_MS,
);

const Rebalanced = z.object({
  topics: z.array(z.object({ changes: z.array(z.object({ segment: z.string(), children: z.array(z.string()).optional() })) })),
});
const SPLITS = 3;

test(
  'F11: rebalanced at three brokers at once, beside the timer of whoever leads: each segment is split once',
  async () => {
    const topic = await fleet.topic('asked', 1, { targetMessagesPerSecond: 5, maxSegments: 16 });
    const random = createSeededRandom('asked');
    const told: string[] = [];
    const turn = async (): Promise<number> => {
      const messages = Array.from({ length: 20 }, () => ({ key: random.base36(8), value: 0 }));
      await expectStatus(ask(fleet.others()[0].url, `POST /v1/topics/${topic}/messages`, { body: { messages } }), 200);
      const asked = fleet.brokers.map(({ url }) => expectStatus(ask(url, 'POST /v1/rebalance', { body: { topic } }), 200));
      for (const { topics } of (await Promise.all(asked)).map((answer) => Rebalanced.parse(answer))) {
        told.push(
          ...topics.flatMap(({ changes }) => changes.flatMap(({ segment, children }) => (children === undefined ? [] : [segment]))),
        );
      }
      return (await scalingOf(fleet.others()[0].url, topic)).length;
    };
    await expect.poll(turn, READ).toBeGreaterThanOrEqual(SPLITS);

    const events = await scalingOf(fleet.others()[0].url, topic);
    expect(new Set(events.map(({ kind, by }) => `${kind} by ${by}`))).toEqual(new Set(['split by planner']));
    const parents = events.flatMap((event) => event.parents);
    expect(new Set(parents).size).toBe(parents.length);
    // Whatever the timer did not do was told to one of those who asked.
    expect([new Set(told).size, parents]).toEqual([told.length, expect.arrayContaining(told)]);
    const segments = await segmentsOf(fleet.others()[0].url, topic);
    expect(segments.filter(({ state }) => state === 'sealed').map(({ segment }) => segment)).toEqual(parents.toSorted());
    expect(segments).toHaveLength(1 + 2 * parents.length);
  },
  TEST_MS,
);
