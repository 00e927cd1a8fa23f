import { Agent } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LEASE_MS, PARTITIONS } from '../../../src/model/limits.ts';
import { checkHistory } from '../../checkers/check-history.ts';
import { createLedger } from '../../clients/ledger.ts';
import { writeNumbered } from '../../clients/numbered-writer.ts';
import { followTopic, readByCursor, readBySegment } from '../../clients/reader.ts';
import { freshTable, sharedStack } from '../../stack.ts';
import type { Passing } from '../fault-proxy.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { askChange, type Change, openSegmentsOf, segmentsOf } from './fleet-api.ts';
import { type Fleet, SEGMENT, START_MS, startFleet } from './fleet.ts';
import { type WatchedTable, watchTable } from './watched-table.ts';

// F6, F12, F28: a leader is paused past its lease in the middle of a split, with one of its writes still on the way, which arrives when
// others have led, carried the split on or made another one, and gone further.

const TEST_MS = 90_000;
const CHANGED = { timeout: 12 * LEASE_MS, interval: 100 };
/** `k0` and `k2` lie in the lower half of the partitions, `k1` and `k3` in the upper one. */
const KEYS = ['k0', 'k1', 'k2', 'k3'];

let watched: WatchedTable;
let fleet: Fleet;
beforeAll(async () => {
  watched = await watchTable(await freshTable('dynoxide', AbortSignal.timeout(START_MS)));
  fleet = await startFleet({ addresses: { store: sharedStack().store, table: watched.table } });
}, START_MS);
afterAll(async () => {
  await fleet.close();
  await watched.close();
});
beforeEach(() => fleet.whole(), START_MS);

type Request = { readonly Item?: { readonly name?: { readonly S: string } }; readonly Key?: { readonly pk: { readonly S: string } } };

const isTopicOf =
  (topic: string) =>
  ({ operation, body }: Passing): boolean =>
    operation === 'PutItem' && (JSON.parse(body.toString()) as Request).Item?.name?.S === topic && body.includes('"nextSegment"');

/** Of a head, which names its successors. */
const isSealOf =
  (topic: string) =>
  ({ operation, body }: Passing): boolean => {
    const head = `h#${watched.versions(topic).at(-1)?.id ?? ''}#${SEGMENT}`;
    return operation === 'UpdateItem' && (JSON.parse(body.toString()) as Request).Key?.pk.S === head && body.includes('"successors"');
  };

/** Splits what is open if that is one segment, else merges the first two; answers the status. */
async function changeOpen(url: string, topic: string): Promise<number> {
  const [first, second] = (await openSegmentsOf(url, topic)).toSorted((a, b) => a.lo - b.lo);
  if (first === undefined) return 0;
  const change: Change =
    second === undefined
      ? { kind: 'split', segment: first.segment, at: first.lo + 100 }
      : { kind: 'merge', segments: [first.segment, second.segment] };
  const reply = await askChange(url, topic, change);
  return reply.answered ? reply.status : 0;
}

test.each([
  { step: 'intent', requestOf: isTopicOf, from: 1 },
  { step: 'seal', requestOf: isSealOf, from: 1 },
  { step: 'publication', requestOf: isTopicOf, from: 2 },
])(
  'F6, F12: the $step of a split arrives when its leader leads no more, and nothing is changed by it',
  async ({ step, requestOf, from }) => {
    const topic = await fleet.topic(`held-${step}`, 1);
    const paused = await fleet.leader();
    const [other] = fleet.others(paused);
    const agent = new Agent({ keepAlive: true });
    const ledger = createLedger();
    const client = { topic, token: ROOT_TOKEN, agent, url: () => other.url };
    const publish = async (number: number): Promise<void> => {
      for (const key of KEYS) await writeNumbered({ ...client, ledger }, key, [number, number]);
    };
    const stop = new AbortController();
    const following = followTopic(client, stop.signal);

    await publish(0);
    const held = watched.plant({ matches: requestOf(topic), fault: { kind: 'hold' }, from });
    const asked = askChange(paused.url, topic, { kind: 'split', segment: SEGMENT, at: PARTITIONS / 2 });
    await held.struck;
    paused.pause();
    try {
      await fleet.leader();
      await publish(1);
      for (const round of [2, 3]) {
        await expect.poll(() => changeOpen(other.url, topic), CHANGED).toBe(200);
        await publish(round);
      }
    } finally {
      held.end();
      paused.resume();
    }
    const reply = await asked;
    if (!reply.answered) throw reply.error;
    expect([200, 409, 503, 504]).toContain(reply.status);
    await fleet.registered(...fleet.brokers);
    await writeNumbered({ ...client, ledger, url: () => paused.url }, 'k1', [4, 4]);

    expect(watched.problems()).toEqual([]);
    const segments = await segmentsOf(paused.url, topic);
    expect(segments.filter(({ state }) => state === 'pending')).toEqual([]);
    const reads = [await readByCursor({ ...client, url: () => paused.url }), await readBySegment(client)];
    stop.abort();
    const publishes = ledger.publishes();
    expect(reads.map(({ messages }) => messages.length)).toEqual([publishes.length, publishes.length]);
    expect(checkHistory({ publishes, reads: [...reads, await following], segments })).toEqual([]);
    agent.destroy();
  },
  TEST_MS,
);
