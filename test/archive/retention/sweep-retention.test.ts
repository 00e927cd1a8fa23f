import { describe, expect, test } from 'vitest';
import { sweepTopicRetention } from '../../../src/archive/retention/sweep-topic.ts';
import { headKey, topicKey } from '../../../src/format/item-key.ts';
import { decodeTopic, encodeTopic } from '../../../src/format/topic-item.ts';
import { RETENTION_CUTS_MAX } from '../../../src/model/archive-limits.ts';
import type { RetentionCut } from '../../../src/model/sweep-report.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { message } from '../../publish/requests.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { replaceSegment } from '../../simulation/replace-segment.ts';
import { createTestWorld } from '../../simulation/test-broker.ts';
import {
  archive,
  checkKept,
  commits,
  FILE_AGE_MS,
  keptOf,
  placesOf,
  publish,
  retentionDeps,
  type Scene,
  sceneOf,
  START_MS,
  sweep,
  truncateOf,
} from './retention-world.ts';

const NOTHING = { examined: 1, messages: 0, bytes: 0, failed: 0, cuts: [], complete: true };
const places = ({ world, topic }: Scene) => placesOf(world, topic);
const bytesOf = async ({ broker, topic, segment, world }: Scene): Promise<number> =>
  (await broker.heads.read(topic.id, segment, world.signal))?.load.bytes ?? 0;

describe('J-37 messages that are kept for a minute', () => {
  const TEN_YEARS_MS = 315_360_000_000;
  /** A thousand, in fifty commits, a hundred milliseconds apart. */
  async function thousand(at: Scene): Promise<void> {
    for (let first = 0; first < 1_000; first += 20) {
      const batch = Array.from({ length: 20 }, (_, n) => {
        const number = first + n;
        const timestampMs = number === 500 ? START_MS + TEN_YEARS_MS : number % 100 === 7 ? 0 : at.world.clock.nowMs();
        return message('a', `${number}`, timestampMs);
      });
      await publish(at, batch);
      await at.world.clock.advance(100);
    }
  }

  test.each([false, true])('go a minute after they were committed, whatever they say of their time (as files: %s)', async (asFiles) => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await thousand(at);
    if (asFiles) {
      await at.world.clock.advance(FILE_AGE_MS);
      await archive(at);
      expect((await places(at))[0]).toBe('0/1000/1000');
    }
    const sinceMs = at.world.clock.nowMs() - START_MS;
    // The first of them is not a minute old, and those dated 0 aren't either.
    await at.world.clock.advance(59_000 - sinceMs);
    expect(await sweep(at)).toEqual(NOTHING);
    // The last commit but one is: two seconds earlier than all of them are.
    await at.world.clock.advance(6_000);
    const bytes = await bytesOf(at);
    const all = { topic: at.topic.id, segment: at.segment, start: 1_000, messages: 1_000, bytes, reason: 'max-age' };
    expect(await sweep(at, { dryRun: true })).toEqual({ ...NOTHING, messages: 1_000, bytes, cuts: [all] });
    expect((await places(at))[0]).toBe(asFiles ? '0/1000/1000' : '0/0/1000');
    expect(await sweep(at)).toEqual({ ...NOTHING, messages: 1_000, bytes, cuts: [all] });
    expect(await places(at)).toEqual(['1000/1000/1000']);
    expect(at.broker.notes.counts.get('kelp.retention.messages')).toBe(1_000);
    await checkKept(at.world, at.topic);
    expect(await sweep(at)).toEqual(NOTHING);
    await publish(at, [message('a', 'new')]);
    expect(await sweep(at)).toEqual(NOTHING);
    expect(await places(at)).toEqual(['1000/1000/1001']);
  });

  test('go commit by commit where they are in no file, whether in pages or in the head', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 20, 1_000);
    await at.world.clock.advance(45_000);
    // Five of them, of a page of sixteen.
    expect(await sweep(at)).toMatchObject({ messages: 6, cuts: [{ start: 6, reason: 'max-age' }] });
    expect(await places(at)).toEqual(['6/6/20']);
    await at.world.clock.advance(12_000);
    expect(await sweep(at)).toMatchObject({ messages: 12, cuts: [{ start: 18, messages: 12 }] });
    expect(await places(at)).toEqual(['18/18/20']);
    await checkKept(at.world, at.topic);
  });

  test('go file by file', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 20, 1_000);
    await archive(at);
    const { records } = await keptOf(at.world, at.topic, at.segment, at.broker.heads);
    expect(records.length).toBeGreaterThan(1);
    const last = records[0]?.last ?? 0;
    // The file's last message was committed `last` seconds after the first.
    await at.world.clock.advance(40_000 + last * 1_000 - 1);
    expect(await sweep(at)).toEqual(NOTHING);
    await at.world.clock.advance(1);
    expect(await sweep(at)).toMatchObject({ messages: last + 1, cuts: [{ start: last + 1 }] });
    await checkKept(at.world, at.topic);
  });
});

test('a file that was cut by hand goes as a whole as well', async () => {
  const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
  await commits(at, 10, 1_000);
  await at.world.clock.advance(FILE_AGE_MS);
  await archive(at);
  await at.world.run(truncateOf(at.broker, at.topic, { segment: at.segment, offset: 2 }));
  const { records } = await keptOf(at.world, at.topic, at.segment, at.broker.heads);
  await at.world.clock.advance(60_000);
  expect(await sweep(at)).toMatchObject({ messages: 8, bytes: records.at(-1)?.bytes, failed: 0, cuts: [{ start: 10, messages: 8 }] });
  expect(await places(at)).toEqual(['10/10/10']);
  await checkKept(at.world, at.topic);
});

describe('messages that are kept up to a size', () => {
  test('go from the oldest on, as long as so much is kept without them', async () => {
    const at = await sceneOf(createTestWorld(), { maxBytes: 1_000 });
    await commits(at, 40);
    const bytes = await bytesOf(at);
    const swept = await sweep(at);
    expect(swept).toMatchObject({ cuts: [{ reason: 'max-bytes', messages: swept.messages, bytes: swept.bytes }], complete: true });
    const keptBytes = bytes - swept.bytes;
    expect(keptBytes).toBeGreaterThanOrEqual(1_000);
    expect(keptBytes).toBeLessThan(1_000 + bytes / 40 + 2);
    await checkKept(at.world, at.topic);
    expect(await sweep(at)).toEqual(NOTHING);
    await commits(at, 1);
    expect(await sweep(at)).toMatchObject({ messages: 1 });
  });

  test('go from all segments, whichever has the oldest', async () => {
    const at = await sceneOf(createTestWorld(), { maxBytes: 1 }, 4);
    for (let number = 0; number < 24; number += 1) {
      await publish(at, [message(`k${number % 7}`, `${number}`)]);
      await at.world.clock.advance(1_000);
    }
    const dry = await sweep(at, { dryRun: true });
    expect(dry).toMatchObject({ examined: 4, messages: 23, complete: true });
    expect(await places(at)).toEqual((await places(at)).map((place) => place.replace(/^\d+/, '0')));
    expect({ ...(await sweep(at)), cuts: [] }).toEqual({ ...dry, cuts: [] });
    // The newest one is kept in any case.
    expect((await places(at)).filter((place) => /^(\d+)\/\1\/\1$/.test(place))).toHaveLength(3);
    await checkKept(at.world, at.topic);
  });

  test('and for a time: both reasons are told', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60, maxBytes: 1 });
    await commits(at, 5, 1_000);
    await at.world.clock.advance(52_000 + 5_000);
    const swept = await sweep(at);
    expect(swept.cuts).toMatchObject([
      { start: 3, messages: 3, reason: 'max-age' },
      { start: 4, messages: 1, reason: 'max-bytes' },
    ]);
    expect(await places(at)).toEqual(['4/4/5']);
  });

  test('are counted, all of them, where more of them go than a report lists', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60, maxBytes: 1 });
    await commits(at, 5, 1_000);
    await at.world.clock.advance(52_000 + 5_000);
    const cut = { topic: at.topic.id, segment: at.segment, start: 1, messages: 1, bytes: 1, reason: 'max-age' } as const;
    const cuts = Array.from({ length: RETENTION_CUTS_MAX - 1 }, (): RetentionCut => cut);
    const counts = { examined: 0, messages: 0, bytes: 0, failed: 0, incomplete: false, cuts };
    const sweeping = { topic: at.topic, dryRun: true, counts };
    await at.world.run(sweepTopicRetention(retentionDeps(at.broker), sweeping, at.world.signal));
    expect([counts.messages, counts.cuts.length]).toEqual([4, RETENTION_CUTS_MAX]);
  });
});

describe('a sweep', () => {
  test('leaves topics alone that keep everything', async () => {
    const at = await sceneOf(createTestWorld());
    await commits(at, 3, 1_000);
    await at.world.clock.advance(1_000_000);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 0 });
    expect(await places(at)).toEqual(['0/0/3']);
  });

  test('goes through sealed segments, and finds them done; readers pass over them, wherever they were', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 3);
    const begun = await readTopic(at, 'earliest', 1);
    expect(begun.read).toEqual([`${at.segment}:0`]);
    await replaceSegment(at.world, at.topic, { segment: at.segment, children: 2 });
    await at.world.clock.advance(60_000);
    await commits(at, 1);
    expect(await sweep(at)).toMatchObject({ examined: 3, messages: 3, cuts: [{ segment: at.segment, start: 3 }] });
    expect((await places(at))[0]).toBe('3/3/3');
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 3 });
    await checkKept(at.world, at.topic);
    const kept = (await readTopic(at, 'earliest')).read;
    expect(kept).toEqual([expect.stringMatching(/^s000000[12]:0$/)]);
    expect((await readTopic(at, begun.cursor)).read).toEqual(kept);
  });

  test('leaves what it can not read to the next one, and goes on with others', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 }, 2);
    for (const key of ['a', 'b', 'c', 'd']) await publish(at, [message(key, key)]);
    const before = await at.world.table.get(headKey(at.topic.id, at.segment), at.world.signal);
    await at.world.table.put(headKey(at.topic.id, at.segment), { ...before, v: 99 }, [], at.world.signal);
    await at.world.clock.advance(60_000);
    const swept = await at.world.run(sweepWith(at));
    expect(swept).toMatchObject({ failed: 1, cuts: [{ reason: 'max-age' }], complete: true });
    expect(swept.cuts.map(({ segment }) => segment)).not.toContain(at.segment);
  });

  test('ends with its time, and says that there is more', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 3);
    await at.world.clock.advance(60_000);
    expect(await sweep(at, { signal: AbortSignal.abort() })).toEqual({ ...NOTHING, examined: 0, complete: false });
    expect(await places(at)).toEqual(['0/0/3']);
  });

  test('ends at a topic that is deleted meanwhile', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 3);
    await at.world.clock.advance(60_000);
    let heads = 0;
    const table = interceptTable(at.world.table, async (call, make) => {
      if (call.name === 'get head') heads += 1;
      if (call.name === 'get head' && heads === 2) await at.broker.topics.delete('t', at.world.signal);
      return make();
    });
    expect(await sweep({ ...at, broker: at.world.broker({ table }) })).toEqual(NOTHING);
    expect(heads).toBe(2);
    expect(await places(at)).toEqual(['0/0/3']);
  });

  test('does nothing to a topic that is being deleted', async () => {
    const at = await sceneOf(createTestWorld(), { maxAgeSeconds: 60 });
    await commits(at, 3);
    const key = topicKey(at.topic.id);
    const topic: Topic = decodeTopic((await at.world.table.get(key, at.world.signal)) ?? {});
    await at.world.table.put(key, encodeTopic({ ...topic, state: 'deleting' }), [], at.world.signal);
    await at.world.clock.advance(60_000);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 0 });
  });
});

/** By an instance that has seen nothing: `segment:offset` of each message. */
async function readTopic(
  { world, topic }: Scene,
  cursor: string,
  messagesMax = 100,
): Promise<{ readonly read: string[]; readonly cursor: string }> {
  const { consumer } = world.broker();
  const page = await world.run(consumer.readTopic(topic, { cursor, messagesMax, bytesMax: 1_000_000, waitMs: 0 }, world.signal));
  const read = page.slices.flatMap(({ segment, from, to }) =>
    Array.from({ length: to - from }, (_, index) => `${segment}:${from + index}`),
  );
  return { read, cursor: page.cursor };
}

const sweepWith = ({ world, ...at }: Scene) => sweep({ ...at, world, broker: world.broker() });
