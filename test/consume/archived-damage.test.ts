import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Consumer } from '../../src/consume/page.ts';
import { encodeFileRecord } from '../../src/format/file-record-item.ts';
import { fileRecordKey } from '../../src/format/item-key.ts';
import { archive, cleanUp, repacked } from './archived-log.ts';
import { calm, createLog, EVERYTHING, messages, readTopic, values } from './fixture.ts';

const letters = (text: string): string[] => text.split('');

const ALL = { lo: 0, hi: 65_535 };

describe('F18 a damaged file', () => {
  async function oneFile() {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.append({ segment, batches: [messages(...letters('abcdefgh'))] });
    await log.spill(segment);
    const { key, object = new Uint8Array(0) } = await archive(log, segment, { next: 6 });
    await cleanUp(log, segment);
    const read = (consumer: Consumer, offset = 0) => consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    return { log, segment, key, object, read };
  }

  test('is an error that names it, wherever a bit is flipped, and never other bytes; what is behind it is read', async () => {
    const { log, segment, key, object, read } = await oneFile();
    // The mark at the start says nothing.
    for (let at = 4; at < object.length; at += 7) {
      await log.damage(key, (bytes) => bytes.with(at, (bytes[at] ?? 0) ^ (1 << (at & 7))));
      const { consumer } = log.instance();
      const where = { topic: 'orders', segment, offset: 0, nextOffset: 6, object: key };
      await expect(read(consumer), `byte ${at}`).rejects.toMatchObject({ kind: 'corrupt', code: 'corrupt', extra: where });
      await expect(consumer.offsetAt(log.topic, { segment, timestampMs: 0 }, calm())).rejects.toMatchObject({
        code: 'corrupt',
        extra: where,
      });
      expect(await values(consumer, (await read(consumer, 6)).slices)).toEqual(['g', 'h']);
      await log.store.put(key, [object], calm());
      expect(await values(consumer, (await read(consumer)).slices)).toEqual(letters('abcdef'));
    }
  });

  test.each([0, 4, 8, 100, -1])('is an error that names it where only %i bytes are there', async (length) => {
    const { log, segment, key, read } = await oneFile();
    await log.damage(key, (bytes) => bytes.slice(0, length));
    // As a real store, which has no word for no bytes.
    const getRange: typeof log.store.getRange = (name, start, asked, signal) =>
      asked > 0 ? log.store.getRange(name, start, asked, signal) : Promise.reject(new Error('no range'));
    await expect(read(log.instance({ store: { ...log.store, getRange } }).consumer)).rejects.toMatchObject({
      code: 'corrupt',
      extra: { segment, offset: 0, object: key },
    });
  });

  test('that is missing, or another one, is an error that names it', async () => {
    const { log, segment, key, read } = await oneFile();
    const other = await oneFile();
    await log.store.delete(key, calm());
    await expect(read(log.instance().consumer)).rejects.toMatchObject({ code: 'corrupt', message: 'an archived file is missing' });
    const { object } = await archive(other.log, other.segment, { next: 8 });
    await log.store.put(key, [object ?? new Uint8Array(0)], calm());
    const error = { code: 'corrupt', extra: { segment, object: key, nextOffset: 6 } };
    await expect(read(log.instance().consumer)).rejects.toMatchObject(error);
  });

  test('of another size than its record says is read where it holds the same rows: another archiver has packed them', async () => {
    const { log, segment, read } = await oneFile();
    const { record, key, object = new Uint8Array(0) } = await archive(log, segment, { next: 8 });
    for (const other of [-5, 5, 200]) {
      const file = { rows: 2, misfits: 0, bytes: object.length + other, footerBytes: (record.file?.footerBytes ?? 0) + other };
      await log.table.put(fileRecordKey(log.topic.id, segment, 6), encodeFileRecord({ ...record, file }), [], calm());
      const { consumer } = log.instance();
      expect(await values(consumer, (await read(consumer, 6)).slices)).toEqual(['g', 'h']);
    }
    await log.store.delete(key, calm());
    await expect(read(log.instance().consumer, 6)).rejects.toMatchObject({ code: 'corrupt', message: 'an archived file is missing' });
  });

  test('in one of two segments does not keep a cursor from the other', async () => {
    const log = createLog();
    const [left, right] = [await log.make({ lo: 0, hi: 32_767 }), await log.make({ lo: 32_768, hi: 65_535 })];
    for (const segment of [left, right]) {
      await log.write(segment, 'a', 'b');
      await log.spill(segment);
      const { key } = await archive(log, segment, { next: 2 });
      if (segment === left) await log.damage(key, (bytes) => bytes.slice(1));
    }
    const { consumer } = log.instance();
    const page = await readTopic(log, 'earliest', EVERYTHING, consumer);
    expect(await values(consumer, page.slices)).toEqual(['a', 'b']);
    expect(page.slices.map(({ segment }) => segment)).toEqual([right]);
    await expect(readTopic(log, page.cursor, EVERYTHING, consumer)).rejects.toMatchObject({ code: 'corrupt', extra: { segment: left } });
  });

  test('that is being repaired is read again, and is right', async () => {
    const { log, segment, key, read } = await oneFile();
    for (const wrongGets of [1, 2]) {
      let gets = 0;
      const store: typeof log.store = {
        ...log.store,
        async getRange(...get) {
          const bytes = await log.store.getRange(...get);
          gets += get[0] === key ? 1 : 0;
          return get[0] === key && gets <= wrongGets ? bytes.with(9, (bytes[9] ?? 0) ^ 1) : bytes;
        },
      };
      const { consumer } = log.instance({ store });
      expect(await values(consumer, (await read(consumer)).slices)).toEqual(letters('abcdef'));
      expect(gets).toBe(wrongGets + 1);
      gets = 0;
      expect(await log.instance({ store }).consumer.offsetAt(log.topic, { segment, timestampMs: 0 }, calm())).toBe(0);
      expect(gets).toBe(wrongGets + 1);
    }
  });

  test('is none where another archiver, who packs otherwise, has put its own over one whose footer a reader knows', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    // Which no packing makes so small that all of the file came with its footer.
    const large = Array.from(
      { length: 6 },
      (_, at) => `${at}${createHash('shake256', { outputLength: 500_000 }).update(`${at}`).digest('hex')}`,
    );
    await log.append({ segment, batches: large.map((value) => messages(value)) });
    await log.spill(segment);
    const { key, record, object = new Uint8Array(0) } = await archive(log, segment, { next: 6 });
    const { consumer } = log.instance();
    const read = async (offset: number) => {
      const page = await consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING, messagesMax: 1 }, calm());
      return (await values(consumer, page.slices)).map((value) => value.slice(0, 1));
    };
    expect(await read(0)).toEqual(['0']);
    const other = await repacked(log, segment, record);
    expect(other.length).not.toBe(object.length);
    await log.store.put(key, [other], calm());
    expect(await read(5)).toEqual(['5']);
    expect(await read(0)).toEqual(['0']);
  });
});
