import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { BATCH_OBJECT_HEADER_BYTES_MAX, decodeBatchObjectHeader, encodeBatchObjectHeader } from '../../src/format/batch-object.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import type { Message } from '../../src/model/message.ts';
import { bytesOf } from './both-routes.ts';

const FORMAT = readFileSync(new URL('../../src/format/FORMAT.md', import.meta.url), 'utf8');
const HEADER = { topic: 'tabcdefghijklmno' as TopicId, segments: [segmentId(0)] };
const none = createCompression({ codec: 'none' });

const MESSAGES: readonly Message[] = [
  { key: bytesOf('a'), value: bytesOf('hi'), headers: [{ name: 'kelp-kind', value: bytesOf('text') }], timestampMs: 1_700_000_000_000 },
  {
    key: bytesOf(''),
    value: null,
    headers: [
      { name: 'n', value: null },
      { name: 'n', value: bytesOf('') },
    ],
    timestampMs: 1_700_000_000_005,
  },
];

/** The hexadecimal digits of the document's example, without what each line says about them. */
function exampleBytes(): Buffer {
  const [, block = ''] = /## \d+\. Example[^]*?```\n([^]*?)```/.exec(FORMAT) ?? [];
  const digits = block.split('\n').map((line) => line.split(/ {2,}/)[0]?.replaceAll(' ', '') ?? '');
  return Buffer.from(digits.join(''), 'hex');
}

test('the example of FORMAT.md is what the code writes', async () => {
  const object = Buffer.concat([encodeBatchObjectHeader(HEADER), await encodeBatch(MESSAGES, none)]);
  expect(exampleBytes().toString('hex')).toBe(object.toString('hex'));
});

test('the example of FORMAT.md is what the code reads', async () => {
  const object = exampleBytes();
  expect(decodeBatchObjectHeader(object)).toEqual(HEADER);
  const messages = await decodeBatch(object.subarray(36), 5, none);
  expect(
    messages.map(({ offset, key, value, timestampMs }) => [
      offset,
      Buffer.from(key).toString(),
      value && Buffer.from(value).toString(),
      timestampMs,
    ]),
  ).toEqual([
    [5, 'a', 'hi', 1_700_000_000_000],
    [6, '', null, 1_700_000_000_005],
  ]);
});

test('FORMAT.md says how many bytes of an object hold its header', () => {
  expect(FORMAT).toContain(`first ${BATCH_OBJECT_HEADER_BYTES_MAX.toLocaleString('en')} bytes`);
});
