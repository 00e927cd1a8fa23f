import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupFrom, groupReaching } from '../../src/format/archived-file/plan-read.ts';
import { ROW_GROUP_BYTES_MAX, ROW_GROUP_MESSAGES_MAX } from '../../src/model/archive-limits.ts';
import type { ArchivedMessage } from '../../src/model/archived-file.ts';
import { TIMESTAMP_MS_MAX } from '../../src/model/limits.ts';
import type { Bytes, Message } from '../../src/model/message.ts';
import { arbitraryMessages } from '../format/arbitrary-message.ts';
import { archived, fileOf, jsonMessage, openFile, readAll, readRows, SOME_TIME_MS, write } from './some-file.ts';

const plain = (messages: readonly ArchivedMessage[]): unknown[] =>
  messages.map(({ key, value, headers, ...rest }) => ({
    ...rest,
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: headers.map((one) => ({ name: one.name, value: one.value === null ? null : Buffer.from(one.value) })),
  }));

const many = (count: number, valueBytes = 10): ArchivedMessage[] =>
  archived(Array.from({ length: count }, (_, number) => jsonMessage(number, valueBytes)));

const empty: Message = { key: Buffer.alloc(0), value: null, headers: [], timestampMs: 0 };

describe('an archived file', () => {
  test('gives back any messages, byte for byte', async () => {
    const first = fc.oneof(fc.constant(0), fc.nat(), fc.integer({ min: 2 ** 31 - 5, max: 2 ** 53 - 100 }));
    await fc.assert(
      fc.asyncProperty(arbitraryMessages, first, fc.integer({ min: 1, max: 7 }), async (messages, offset, pieceSize) => {
        const rows = archived(messages, offset);
        const object = await write(rows, pieceSize);
        const footer = openFile(object);
        expect(footer.file).toEqual(fileOf(rows));
        expect(plain(await readAll(object, footer))).toEqual(plain(rows));
      }),
      { numRuns: 300 },
    );
  });

  test.each<[string, Message[]]>([
    ['only tombstones', [empty, empty]],
    ['only empty values', [{ ...empty, value: Buffer.alloc(0) }]],
    ['a byte order mark at the start of a name', [{ ...empty, headers: [{ name: '\uFEFFa', value: null }] }]],
    [
      'headers of one name, with no value, an empty one and one',
      [
        {
          ...empty,
          headers: ['', 'a'].flatMap((name) => [null, '', 'b'].map((text) => ({ name, value: text === null ? null : Buffer.from(text) }))),
        },
      ],
    ],
    ['the first and the last time', [{ ...empty, timestampMs: TIMESTAMP_MS_MAX }, empty]],
    [
      'a value of the largest size, of bytes that do not shrink',
      [{ ...empty, value: Buffer.from(Array.from({ length: 1_048_576 }, (_, at) => (Math.imul(at, 2_654_435_761) >>> 13) & 255)) }],
    ],
  ])('gives back %s', async (_, messages) => {
    const rows = archived(messages);
    expect(plain(await readAll(await write(rows)))).toEqual(plain(rows));
  });

  test('has the same bytes whatever pieces its messages come in', async () => {
    const rows = many(70_000);
    const object = await write(rows, 1_000);
    expect(Buffer.compare(await write(rows, 33_333), object)).toBe(0);
  });

  test('has row groups that end before either bound is exceeded', async () => {
    const small = openFile(await write(many(ROW_GROUP_MESSAGES_MAX + 1))).groups;
    expect(small.map(({ first, count }) => [first, count])).toEqual([
      [0, ROW_GROUP_MESSAGES_MAX],
      [ROW_GROUP_MESSAGES_MAX, 1],
    ]);
    const rows = many(20, 1_000_000);
    const large = openFile(await write(rows)).groups;
    expect(large.map(({ count }) => count)).toEqual([4, 4, 4, 4, 4]);
    expect(4 * 1_000_000).toBeLessThan(ROW_GROUP_BYTES_MAX);
  });

  test('has gaps where batches were quarantined, and nowhere else', async () => {
    const gaps = fc.uniqueArray(fc.nat({ max: 39 }), { minLength: 1, maxLength: 39 });
    await fc.assert(
      fc.asyncProperty(gaps, fc.constantFrom(0, 2 ** 31 - 20, 2 ** 53 - 100), async (gone, first) => {
        const all = archived(
          Array.from({ length: 40 }, (_, number) => jsonMessage(number, 10)),
          first,
        );
        const rows = all.filter((_, index) => !gone.includes(index));
        const object = await write(rows, 7, fileOf(all));
        expect(plain(await readAll(object))).toEqual(plain(rows));
      }),
    );
  });

  test('leads from an offset in a gap to the row group behind it', async () => {
    const all = many(20, 1_000_000);
    const rows = all.filter(({ offset }) => ![0, 3, 4, 5, 9, 18, 19].includes(offset));
    const footer = openFile(await write(rows, 3, fileOf(all)));
    expect(footer.groups.map(({ first, last, count }) => [first, last, count])).toEqual([
      [1, 7, 4],
      [8, 12, 4],
      [13, 16, 4],
      [17, 17, 1],
    ]);
    expect([0, 7, 8, 9, 17, 18].map((offset) => groupFrom(footer, offset)?.index)).toEqual([0, 0, 1, 1, 3, undefined]);
  });

  test('is refused where messages are out of order, or of another day', async () => {
    const rows = many(5);
    const file = fileOf(rows);
    const last = rows.at(-1) ?? expect.unreachable('there are rows');
    const late = { ...last, committedMs: SOME_TIME_MS + 86_400_000 };
    const early = { ...last, committedMs: SOME_TIME_MS - 1 };
    for (const wrong of [
      [...rows, { ...last, offset: 5 }],
      [...rows, last],
      rows.toReversed(),
      [...rows.slice(0, 4), late],
      [...rows.slice(0, 4), early],
      [],
    ]) {
      await expect(write(wrong, 2, file)).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
    }
  });
});

describe('a read of an archived file', () => {
  const rows = many(100_000).map((row, index) => ({ ...row, timestampMs: SOME_TIME_MS + (index === 40_000 ? 9_000_000 : index) }));

  test('by offset takes the end of the object and one row group', async () => {
    const object = await write(rows);
    const footer = openFile(object);
    expect(footer.groups.length).toBe(4);
    for (const offset of [0, 32_767, 32_768, 99_999]) {
      const group = groupFrom(footer, offset) ?? expect.unreachable('the offset is in the file');
      const messages = await readRows(object, group);
      expect(plain(messages.filter((one) => one.offset === offset))).toEqual(plain(rows.slice(offset, offset + 1)));
    }
    expect(groupFrom(footer, 100_000)).toBeUndefined();
  });

  test('by timestamp takes the first row group that reaches it', async () => {
    const footer = openFile(await write(rows));
    const indexOf = (timestampMs: number, from: number): number | undefined => groupReaching(footer, timestampMs, from)?.index;
    expect(indexOf(0, 0)).toBe(0);
    expect(indexOf(SOME_TIME_MS + 32_768, 0)).toBe(1);
    expect(indexOf(SOME_TIME_MS + 100_000, 0)).toBe(1);
    expect(indexOf(SOME_TIME_MS + 32_768, 65_536)).toBe(2);
    expect(indexOf(SOME_TIME_MS + 100_000, 65_536)).toBeUndefined();
  });

  test('by timestamp finds what a look at each message finds', async () => {
    const offsets = many(66_000).map((row, index) => ({ ...row, timestampMs: (index * 7_919) % 50_000 }));
    const footer = openFile(await write(offsets));
    fc.assert(
      fc.property(fc.nat({ max: 50_100 }), fc.nat({ max: 66_000 }), (timestampMs, from) => {
        const sought = offsets.find((one) => one.offset >= from && one.timestampMs >= timestampMs);
        const group = groupReaching(footer, timestampMs, from);
        // Never behind it; before it only where the message that reaches the time lies before `from`.
        if (sought !== undefined) expect(group?.first ?? Infinity).toBeLessThanOrEqual(sought.offset);
        if (group === undefined) expect(sought).toBeUndefined();
      }),
    );
  });

  test('goes on where the footer is longer than what was read of it', async () => {
    const object = await write(many(10));
    expect(() => openFile(object, 8)).not.toThrow();
    expect(openFile(object, 8)).toEqual(openFile(object));
  });
});

describe('damage of an archived file', () => {
  test('is found wherever it is', async () => {
    const object = Buffer.from(await write(archived([jsonMessage(1, 60), empty, { ...empty, headers: [{ name: 'a', value: null }] }])));
    for (let at = 4; at < object.length; at += 1) {
      const wrong = Buffer.from(object);
      wrong.writeUInt8(wrong.readUInt8(at) ^ (1 << (at & 7)), at);
      await expect(readAllOf(wrong), `byte ${at}`).rejects.toMatchObject({ kind: 'corrupt' });
    }
  });

  test.each([0, 1, 7, 8, 40])('is found where only the first %i bytes are there', async (length) => {
    const object = await write(many(2));
    await expect(readAllOf(object.subarray(0, length))).rejects.toMatchObject({ kind: 'corrupt' });
  });

  test('is found where the end of one file stands behind the rows of another', async () => {
    const [one, other] = [await write(many(2)), await write(many(3))];
    const mixed = Buffer.concat([one.subarray(0, openFile(one).groups[0]?.range.length ?? 0), other.subarray(other.length - 1_500)]);
    await expect(readAllOf(mixed)).rejects.toMatchObject({ kind: 'corrupt' });
  });
});

/** What goes wrong in opening it counts as well. */
const readAllOf = async (object: Bytes): Promise<ArchivedMessage[]> => readAll(object);
