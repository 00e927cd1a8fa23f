import { describe, expect, test } from 'vitest';
import { ARCHIVE_KNOWN_MS_MAX } from '../../src/model/archive-limits.ts';
import { archive, cleanUp } from './archived-log.ts';
import { calm, createLog, EVERYTHING, type Log, messages, readTopic, values } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };

/** An instance, and how often it has asked for what. */
function counted(log: Log) {
  const asked = { archives: 0, heads: 0, records: 0, pages: 0, gets: 0 };
  const { consumer, heads } = log.instance({
    table: {
      ...log.table,
      get(key, signal) {
        asked[key.sk === 'a' ? 'archives' : 'heads'] += 1;
        return log.table.get(key, signal);
      },
      query(query, signal) {
        if (query.pk.startsWith('p#')) asked[query.from?.startsWith('f') === true ? 'records' : 'pages'] += 1;
        return log.table.query(query, signal);
      },
    },
    store: { ...log.store, getRange: (...get) => ((asked.gets += 1), log.store.getRange(...get)) },
  });
  return { asked, consumer, heads };
}

describe('what reads ask of the table', () => {
  test('at the tail: nothing of archives, whoever publishes, and however long one follows', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, 'old');
    await log.spill(segment);
    const { asked, consumer, heads } = counted(log);
    let { cursor } = await readTopic(log, 'latest', EVERYTHING, consumer);
    for (let offset = 1; offset < 40; offset += 1) {
      const { head } = await log.write(segment, `${offset}`);
      if (offset % 2 === 0) heads.offer(head);
      await log.clock.advance(ARCHIVE_KNOWN_MS_MAX / 10);
      const page = await readTopic(log, cursor, EVERYTHING, consumer);
      ({ cursor } = page);
      expect(await values(consumer, page.slices)).toEqual([`${offset}`]);
    }
    expect(asked).toMatchObject({ archives: 0, records: 0, pages: 0 });
    const last = await consumer.readSegment(log.topic, { segment, from: { offset: 39 }, ...EVERYTHING }, calm());
    expect(last.slices).toHaveLength(1);
    await consumer.readSegment(log.topic, { segment, from: 'latest', ...EVERYTHING }, calm());
    expect(asked).toMatchObject({ archives: 0, records: 0, pages: 0 });
  });

  test('of history: how far it was archived, once in a few seconds, and of a file its record, once', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.append({ segment, batches: [messages(...'abcdefgh'.split(''))] });
    await log.spill(segment);
    await archive(log, segment, { next: 8 });
    await cleanUp(log, segment);
    const { asked, consumer } = counted(log);
    for (let round = 1; round <= 3; round += 1) {
      for (let offset = 0; offset < 8; offset += 1) {
        await consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING, messagesMax: 1 }, calm());
      }
      expect(asked).toEqual({ archives: round, heads: 1, records: 1, pages: 0, gets: 1 });
      await log.clock.advance(ARCHIVE_KNOWN_MS_MAX);
    }
  });

  test('of many small files: their records in one query, and each file in one read', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    for (let turn = 0; turn < 20; turn += 1) {
      await log.write(segment, `${turn}`);
      await log.spill(segment);
      await archive(log, segment, { next: turn + 1 });
    }
    const { asked, consumer } = counted(log);
    const page = await consumer.readSegment(log.topic, { segment, from: 'earliest', ...EVERYTHING }, calm());
    expect(await values(consumer, page.slices)).toEqual(Array.from({ length: 20 }, (_, turn) => `${turn}`));
    expect(asked).toEqual({ archives: 1, heads: 1, records: 2, pages: 0, gets: 20 });
  });

  test('of a large file: its footer and one row group, for all that read there at the same time', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    const large = Array.from({ length: 12 }, (_, at) => Array.from({ length: 50_000 }, (__, n) => `${at * n} `).join(''));
    await log.append({ segment, batches: large.map((value) => messages(value, value, value)) });
    await log.spill(segment);
    await archive(log, segment, { next: 36 });
    const { asked, consumer } = counted(log);
    const one = { ...EVERYTHING, messagesMax: 1 };
    const read = (offset: number) => consumer.readSegment(log.topic, { segment, from: { offset }, ...one }, calm());
    await Promise.all([20, 20, 20].map(read));
    expect(asked.gets).toBe(2);
    await read(20);
    expect(asked.gets).toBe(2);
    await read(0);
    expect(asked.gets).toBe(3);
  });
});
