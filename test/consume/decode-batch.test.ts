import { describe, expect, test } from 'vitest';
import type { Compression } from '../../src/ports/compression.ts';
import { READ_DECODED_BYTES_MAX } from '../../src/model/limits.ts';
import { calm, compression, createLog, message, textOf } from './fixture.ts';

const ALL = { lo: 0, hi: 65_535 };

/** Counts what is unpacked. */
function createCounting() {
  const counts = { unpacked: 0 };
  const counting: Compression = {
    ...compression,
    decompress: (...input) => {
      counts.unpacked += 1;
      return compression.decompress(...input);
    },
  };
  return { counts, compression: counting };
}

describe('decoding', () => {
  test('small pages of a large batch, and showing them, unpack it once', async () => {
    const { counts, compression: counting } = createCounting();
    const log = createLog({ compression: counting });
    const segment = await log.make(ALL);
    const values = Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(100, '.'));
    await log.append({ segment, batches: [values.map((value) => message(value))], compress: true });
    const read: string[] = [];
    for (let offset = 0; offset < 100; offset += 1) {
      const page = await log.consumer.readSegment(
        log.topic,
        { segment, from: { offset }, messagesMax: 1, bytesMax: 1_000, waitMs: 0 },
        calm(),
      );
      for (const slice of page.slices) read.push(...(await log.consumer.decode(slice)).map(textOf));
    }
    expect(read).toEqual(values);
    expect(counts.unpacked).toBe(1);
  });

  test('what is kept of it is bounded, but a page that is held shows what it was measured by', async () => {
    const { counts, compression: counting } = createCounting();
    const log = createLog({ compression: counting });
    const segment = await log.make(ALL);
    const size = 1_000_000;
    const batches = Math.ceil(READ_DECODED_BYTES_MAX / size) + 4;
    for (let n = 0; n < batches; n += 1)
      await log.append({ segment, batches: [[message(`${n}`.padEnd(size, '.')), message('x')]], compress: true });
    const readAt = (offset: number) =>
      log.consumer.readSegment(log.topic, { segment, from: { offset }, messagesMax: 2, bytesMax: 2 * size, waitMs: 0 }, calm());
    const first = await readAt(0);
    for (let n = 1; n < batches; n += 1) await readAt(2 * n);
    expect(counts.unpacked).toBe(batches);
    await log.consumer.decode(first.slices[0] ?? fail());
    expect(counts.unpacked).toBe(batches);
    await readAt(0);
    expect(counts.unpacked).toBe(batches + 1);
    await readAt(2 * batches - 2);
    expect(counts.unpacked).toBe(batches + 1);
  });
});

function fail(): never {
  throw new Error('the page is empty');
}
