import { describe, expect, test } from 'vitest';
import type { Consumer } from '../../src/consume/page.ts';
import { ARCHIVE_KNOWN_MS_MAX } from '../../src/model/archive-limits.ts';
import { archive, cleanUp, cutOff } from './archived-log.ts';
import { calm, createLog, drain, EVERYTHING, readTopic, values } from './fixture.ts';

const letters = (text: string): string[] => text.split('');

const ALL = { lo: 0, hi: 65_535 };

describe('what is cut off', () => {
  test('is told by its start to whoever asks for an offset, and read over by all others', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, ...letters('abcdef'));
    await log.spill(segment);
    await archive(log, segment, { next: 2, state: 'dropped' });
    await archive(log, segment, { next: 4 });
    await cutOff(log, segment, 3);
    const { consumer } = log.instance();
    const read = (from: Parameters<Consumer['readSegment']>[1]['from']) =>
      consumer.readSegment(log.topic, { segment, from, ...EVERYTHING }, calm());
    const told = { kind: 'not-found', code: 'truncated', extra: { start: 3 } };
    for (const offset of [0, 2]) await expect(read({ offset })).rejects.toMatchObject(told);
    await expect(consumer.locateSegment(log.topic, { segment, from: { offset: 2 }, ...EVERYTHING }, calm())).rejects.toMatchObject(told);
    expect((await read('earliest')).offset).toBe(3);
    expect(await read({ timestampMs: 0 })).toMatchObject({ offset: 3 });
    expect((await drain(log, 'earliest', EVERYTHING, consumer)).read).toEqual(
      ['d', 'e', 'f'].map((text, at) => `${segment}:${at + 3}=${text}`),
    );
  });

  test('is passed over with its segment where that is sealed and has nothing else', async () => {
    const log = createLog();
    const old = await log.make(ALL);
    await log.write(old, 'a', 'b');
    await log.spill(old);
    const { consumer } = log.instance();
    const first = await readTopic(log, 'earliest', { ...EVERYTHING, messagesMax: 1 }, consumer);
    const young = await log.make(ALL, [old], 'pending');
    await log.seal(old, { successors: [{ segment: young, ...ALL }] });
    await log.open(young);
    await log.write(young, 'c');
    await archive(log, old, { next: 2, state: 'dropped' });
    await cleanUp(log, old);
    await log.clock.advance(ARCHIVE_KNOWN_MS_MAX);
    for (const reader of [consumer, log.instance().consumer]) {
      expect((await drain(log, first.cursor, EVERYTHING, reader)).read).toEqual([`${young}:0=c`]);
      expect((await drain(log, 'earliest', EVERYTHING, reader)).read).toEqual([`${young}:0=c`]);
      expect((await drain(log, 'timestamp:0', EVERYTHING, reader)).read).toEqual([`${young}:0=c`]);
    }
    const page = await consumer.readSegment(log.topic, { segment: old, from: 'earliest', ...EVERYTHING }, calm());
    expect(page).toMatchObject({ slices: [], offset: 2, nextOffset: 2, tail: 2, sealed: true });
  });

  test('is told within seconds by a reader whose head is an old one, of a segment that nobody writes to', async () => {
    const log = createLog();
    const segment = await log.make(ALL);
    await log.write(segment, ...letters('abc'));
    const { consumer } = log.instance();
    const read = () => consumer.readSegment(log.topic, { segment, from: { offset: 1 }, ...EVERYTHING }, calm());
    await read();
    await log.spill(segment);
    await archive(log, segment, { next: 2, state: 'dropped' });
    await log.clock.advance(ARCHIVE_KNOWN_MS_MAX);
    await expect(read()).rejects.toMatchObject({ code: 'truncated', extra: { start: 2 } });
    expect((await consumer.readSegment(log.topic, { segment, from: 'earliest', ...EVERYTHING }, calm())).offset).toBe(2);
  });
});

describe('F22 a read that is overtaken', () => {
  const texts = letters('abcdefgh');

  /** A reader that has seen heads and pages, then all of what it knows is archived and cleaned up. */
  async function overtaken(messagesMax: number) {
    const log = createLog();
    const segment = await log.make(ALL);
    for (const text of texts) {
      await log.write(segment, text);
      await log.spill(segment);
    }
    const { consumer } = log.instance({ cacheBytesMax: 0 });
    const first = await readTopic(log, 'earliest', { ...EVERYTHING, messagesMax }, consumer);
    return { log, segment, consumer, cursor: first.cursor };
  }

  test('by archiving and clean-up goes on in files, whatever it has seen of the index', async () => {
    const { log, segment, consumer, cursor } = await overtaken(2);
    await archive(log, segment, { next: 5 });
    await archive(log, segment, { next: 8 });
    await cleanUp(log, segment);
    const read = await drain(log, cursor, { ...EVERYTHING, messagesMax: 3 }, consumer);
    expect(read.read).toEqual(texts.slice(2).map((text, at) => `${segment}:${at + 2}=${text}`));
  });

  test('R2: what is missing in pages that it never read, a reader who has just seen that nothing was archived finds in files', async () => {
    const { log, segment } = await overtaken(1);
    const { consumer } = log.instance();
    const read = (offset: number) => consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING, messagesMax: 1 }, calm());
    await read(0);
    await archive(log, segment, { next: 8 });
    await cleanUp(log, segment);
    expect(await values(consumer, (await read(6)).slices)).toEqual(['g']);
  });

  test('J-39 (a): one message at a time, each step of archiving and clean-up in between', async () => {
    const { log, segment, consumer, cursor } = await overtaken(1);
    const read: string[] = [];
    let next = cursor;
    for (let turn = 1; turn < texts.length; turn += 1) {
      await archive(log, segment, { next: turn });
      if (turn % 2 === 0) await cleanUp(log, segment);
      await log.clock.advance(turn % 3 === 0 ? ARCHIVE_KNOWN_MS_MAX : 0);
      const page = await readTopic(log, next, { ...EVERYTHING, messagesMax: 1 }, consumer);
      read.push(...(await values(consumer, page.slices)));
      next = page.cursor;
    }
    expect(read).toEqual(texts.slice(1));
  });

  test('by retention goes on at the start: a cursor reads over it, an offset is told', async () => {
    const { log, segment, consumer, cursor } = await overtaken(2);
    const { key } = await archive(log, segment, { next: 5 });
    const offset = () => consumer.readSegment(log.topic, { segment, from: { offset: 2 }, ...EVERYTHING }, calm());
    await log.clock.advance(ARCHIVE_KNOWN_MS_MAX);
    await cleanUp(log, segment);
    await offset();
    await archive(log, segment, { next: 6 });
    // Its footer and rows are known, and its place: only its end is new.
    await cutOff(log, segment, 6);
    await log.store.delete(key, calm());
    await log.clock.advance(ARCHIVE_KNOWN_MS_MAX);
    await expect(offset()).rejects.toMatchObject({ code: 'truncated', extra: { start: 6 } });
    expect((await drain(log, cursor, EVERYTHING, consumer)).read).toEqual([`${segment}:6=g`, `${segment}:7=h`]);
  });

  test('by retention, of what a few seconds ago was the start: earliest and times begin at the new one', async () => {
    const { log, segment } = await overtaken(1);
    const files = [await archive(log, segment, { next: 4 }), await archive(log, segment, { next: 8 })];
    for (const from of ['earliest', { timestampMs: 0 }] as const) {
      const { consumer } = log.instance();
      await cutOff(log, segment, 0);
      await consumer.readSegment(log.topic, { segment, from: { offset: 7 }, ...EVERYTHING }, calm());
      await cutOff(log, segment, 4);
      await log.store.delete(files[0]?.key ?? '', calm());
      const page = await consumer.readSegment(log.topic, { segment, from, ...EVERYTHING }, calm());
      expect(await values(consumer, page.slices)).toEqual(texts.slice(4));
      const { consumer: other } = log.instance();
      await cutOff(log, segment, 0);
      await other.readSegment(log.topic, { segment, from: { offset: 7 }, ...EVERYTHING }, calm());
      await cutOff(log, segment, 4);
      expect(await other.offsetAt(log.topic, { segment, timestampMs: 0 }, calm())).toBe(4);
      await log.store.put(files[0]?.key ?? '', [files[0]?.object ?? new Uint8Array(0)], calm());
    }
  });
});
