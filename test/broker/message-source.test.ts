import { describe, expect, test } from 'vitest';
import type { Stretch } from '../../src/archive/archive-deps.ts';
import { createMessageSource } from '../../src/broker/message-source.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { ARCHIVE_PIECE_BYTES } from '../../src/model/archive-limits.ts';
import { calm, createLog, type Log, message } from '../consume/fixture.ts';
import { appendUpload, find } from '../consume/uploaded.ts';
import { interceptStore } from '../simulation/intercept.ts';

/** The offsets of each piece. */
async function piecesOf({ topic }: Log, consumer: Log['consumer'], stretch: Stretch): Promise<number[][]> {
  const pieces: number[][] = [];
  for await (const piece of createMessageSource(consumer).read(topic, stretch, calm())) {
    pieces.push(piece.map(({ offset }) => offset));
  }
  return pieces;
}

/** A segment of three batches of three. */
async function threeBatches(): Promise<{ readonly log: Log; readonly segment: SegmentId }> {
  const log = createLog();
  const segment = await log.make({ lo: 0, hi: 65_535 });
  for (const name of ['a', 'b', 'c']) await log.write(segment, name, name, name);
  return { log, segment };
}

describe('messages to be archived', () => {
  test.each([
    [
      0,
      8,
      [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
      ],
    ],
    [
      4,
      7,
      [
        [4, 5],
        [6, 7],
      ],
    ],
    [4, 4, [[4]]],
    [0, 2, [[0, 1, 2]]],
  ])('from %i to %i come a batch at a time, and no others', async (first, last, expected) => {
    const { log, segment } = await threeBatches();
    expect(await piecesOf(log, log.consumer, { segment, first, last })).toEqual(expected);
  });

  test('come page by page, the next one while one is made use of, and no further than they are wanted', async () => {
    const log = createLog();
    const segment = await log.make({ lo: 0, hi: 65_535 });
    const large = 'x'.repeat(ARCHIVE_PIECE_BYTES / 2);
    for (let count = 0; count < 5; count += 1) await log.append({ segment, batches: [[message(large)]] });
    const asked: number[] = [];
    const consumer: Log['consumer'] = {
      ...log.consumer,
      readSegment(topic, wanted, signal) {
        asked.push((wanted.from as { offset: number }).offset);
        return log.consumer.readSegment(topic, wanted, signal);
      },
    };
    const pieces = createMessageSource(consumer).read(log.topic, { segment, first: 0, last: 3 }, calm())[Symbol.asyncIterator]();
    expect((await pieces.next()).value).toMatchObject([{ offset: 0 }]);
    expect(asked).toEqual([0, 1]);
    const rest = [await pieces.next(), await pieces.next(), await pieces.next()].map(
      ({ value }) => (value as { offset: number }[])[0]?.offset,
    );
    expect(rest).toEqual([1, 2, 3]);
    expect((await pieces.next()).done).toBe(true);
    expect(asked).toEqual([0, 1, 2, 3]);
  });

  test('that cannot be read are an error, once those before have come; of a page that nobody asks for it is nobody’s', async () => {
    const log = createLog();
    const segment = await log.make({ lo: 0, hi: 65_535 });
    const large = 'x'.repeat(ARCHIVE_PIECE_BYTES);
    const keys: string[] = [];
    for (let count = 0; count < 2; count += 1)
      keys.push(...(await log.append({ segment, batches: [[message(large)]] })).map(({ key }) => key));
    const store = interceptStore(log.store, (call, make) =>
      call.key === keys[1] ? Promise.reject(new KelpError('unavailable', 'store-unavailable', 'planted')) : make(),
    );
    const { consumer } = log.instance({ store });
    const pieces = createMessageSource(consumer).read(log.topic, { segment, first: 0, last: 1 }, calm())[Symbol.asyncIterator]();
    expect((await pieces.next()).value).toMatchObject([{ offset: 0 }]);
    await expect(pieces.next()).rejects.toMatchObject({ code: 'store-unavailable' });
    const left = createMessageSource(consumer).read(log.topic, { segment, first: 0, last: 1 }, calm())[Symbol.asyncIterator]();
    await left.next();
    await left.return?.();
  });

  test('of an upload are known once its batches were looked at', async () => {
    const { log, segment } = await threeBatches();
    const upload = await appendUpload(log, segment, { batches: [[message('u')], [message('bad')]] });
    await expect(piecesOf(log, log.instance().consumer, { segment, first: 8, last: 10 })).rejects.toMatchObject({
      kind: 'unavailable',
      code: 'unchecked',
    });
    await find(log, upload, { checked: true, bad: [1] });
    expect(await piecesOf(log, log.instance().consumer, { segment, first: 8, last: 10 })).toEqual([[8], [9]]);
  });
});
