import { beforeEach, describe, expect, test } from 'vitest';
import { partitionOf } from '../../src/model/partition.ts';
import { UPLOAD_BATCHES_MAX } from '../../src/model/upload-limits.ts';
import { type RawBatch, rawBatch } from '../format/raw-batch.ts';
import { type Log, openLog } from './log.ts';
import { declared, uploaded } from './some-upload.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const PARTITION = partitionOf(Buffer.from('a'));
const NDJSON = { accept: 'application/x-ndjson' };

let t: TestApp;
let log: Log;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
});

const batchOf = (...values: string[]): Uint8Array => rawBatch({ records: values.map((value) => ({ key: 'a', value })) } satisfies RawBatch);
const two = [batchOf('1', '2'), batchOf('3')];

/** A request that is right, for these batches; `members` of it in place of its own. */
async function requestOf(members: Readonly<Record<string, unknown>> = {}, batches = two): Promise<Record<string, unknown>> {
  const batch = await uploaded(t, log.topic, Buffer.concat(batches));
  return { batch, segment: log.segment, batches: declared(batches, PARTITION), ...members };
}

type Wrong = (request: any) => string | object;

const withBatch = (at: number, members: object): Wrong => {
  const batches = declared(two, PARTITION).map((batch, index) => (index === at ? { ...batch, ...members } : batch));
  return (request) => ({ ...request, batches });
};

describe('batches that were uploaded', () => {
  test('are committed as they are, with a result for each, and read by every form', async () => {
    await log.publish({ messages: [{ key: 'a', text: '0' }] });
    const request = await requestOf();
    expect((await log.publish(request)).json).toEqual({
      results: [
        { segment: log.segment, offset: 1, count: 2 },
        { segment: log.segment, offset: 3, count: 1 },
      ],
    });
    const bytes = ['1', '2', '3'].map((value, at) => ({
      offset: at + 1,
      partition: PARTITION,
      bytes: Buffer.from(value).toString('base64'),
    }));
    expect((await log.messages()).slice(1)).toMatchObject(bytes);
    expect(
      (await log.read('?offset=2', NDJSON)).text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject(bytes.slice(1));
    expect((await t.send('GET', `/v1/topics/${log.topic}/uploads/${request['batch'] as string}`)).json).toMatchObject({
      state: 'submitted',
      segment: log.segment,
      offset: 1,
    });
  });

  test('may be sent in any order of members, by the segment in a header too, and with an expected tail', async () => {
    const { batch, segment, batches } = await requestOf();
    const headers = { 'kelp-segment': log.segment, 'kelp-match-tail': '0' };
    expect((await log.publish({ segment, batches, batch }, headers)).json.results).toHaveLength(2);
    const other = await requestOf();
    expect((await log.publish(other, headers)).json).toMatchObject({ status: 412, code: 'tail-mismatch', tail: 3 });
    expect((await log.publish(other)).json.results).toMatchObject([{ offset: 3 }, { offset: 5 }]);
  });

  test('have the same answer under the same Idempotency-Key, and are submitted once', async () => {
    const request = await requestOf();
    const first = await log.publish(request, { 'idempotency-key': 'k' });
    expect(first.json.results).toHaveLength(2);
    const again = await log.publish(request, { 'idempotency-key': 'k' });
    expect(again.json.results.map(({ offset, count }: { offset: number; count: number }) => [offset, count])).toEqual([
      [0, 2],
      [2, 1],
    ]);
    expect((await log.publish(request)).json).toMatchObject({
      status: 409,
      code: 'upload-submitted',
      field: 'batch',
      segment: log.segment,
      offset: 0,
    });
    expect((await log.publish({ messages: [{ key: 'a', upload: request['batch'] }] })).json).toMatchObject({
      code: 'upload-submitted',
      field: 'messages[0].upload',
    });
    expect(await log.tail()).toBe(3);
  });

  test.each<[string, Wrong, string, string | undefined]>([
    ['no upload', (request) => ({ ...request, batch: undefined }), 'invalid-upload', 'batch'],
    ['a URL', (request) => ({ ...request, batch: 'http://169.254.169.254/' }), 'invalid-upload', 'batch'],
    ['no segment', (request) => ({ ...request, segment: undefined }), 'invalid-segment', 'segment'],
    ['a segment that is none', (request) => ({ ...request, segment: 's0' }), 'invalid-segment', 'segment'],
    ['no batches', (request) => ({ ...request, batches: undefined }), 'invalid-batches', 'batches'],
    ['an empty list', (request) => ({ ...request, batches: [] }), 'invalid-batches', 'batches'],
    ['something else than a list', (request) => ({ ...request, batches: {} }), 'invalid-batches', 'batches'],
    ['something else than a batch', (request) => ({ ...request, batches: [7] }), 'invalid-batches', 'batches[0]'],
    ['another member', (request) => ({ ...request, url: 'x' }), 'invalid-request', 'url'],
    ['messages beside them', (request) => ({ ...request, messages: [] }), 'invalid-request', 'messages'],
    ['another member of a batch', withBatch(1, { url: 'x' }), 'invalid-batches', 'batches[1].url'],
    ['a prototype', (request) => JSON.stringify(request).replace('"crc"', '"__proto__"'), 'invalid-batches', 'batches[0].__proto__'],
    ['a member twice', (request) => JSON.stringify(request).replace('"crc"', '"count":1,"crc"'), 'invalid-json', 'batches[0].count'],
    ['the upload twice', (request) => JSON.stringify(request).replace('{', `{"batch":"${request.batch}",`), 'invalid-json', 'batch'],
    ['something behind it', (request) => `${JSON.stringify(request)}1`, 'invalid-json', undefined],
    ['a negative place', withBatch(1, { offset: -1 }), 'invalid-batches', 'batches[1].offset'],
    ['half a place', withBatch(1, { offset: 1.5 }), 'invalid-batches', 'batches[1].offset'],
    ['a place as text', withBatch(1, { offset: '1' }), 'invalid-batches', 'batches[1].offset'],
    ['no place', withBatch(1, { offset: undefined }), 'invalid-batches', 'batches[1].offset'],
    ['another place', withBatch(1, { offset: 3 }), 'invalid-batches', 'batches[1].offset'],
    ['too few bytes for a header', withBatch(0, { bytes: 60 }), 'invalid-batches', 'batches[0].bytes'],
    ['more bytes than a batch has', withBatch(1, { bytes: 16_777_217 }), 'invalid-batches', 'batches[1].bytes'],
    ['other bytes', withBatch(1, { bytes: 69 }), 'invalid-batches', 'batches'],
    ['no records', withBatch(1, { count: 0, partitions: [] }), 'invalid-batches', 'batches[1].count'],
    ['more records than a batch has', withBatch(1, { count: 10_001 }), 'invalid-batches', 'batches[1].count'],
    ['another count', withBatch(1, { count: 2, partitions: [1, 2] }), 'invalid-batches', 'batches[1].count'],
    ['another checksum', withBatch(1, { crc: 7 }), 'invalid-batches', 'batches[1].crc'],
    ['a checksum of more than 32 bits', withBatch(1, { crc: 4_294_967_296 }), 'invalid-batches', 'batches[1].crc'],
    ['a partition too few', withBatch(0, { partitions: [PARTITION] }), 'invalid-batches', 'batches[0].partitions'],
    ['a partition too many', withBatch(1, { partitions: [1, 1] }), 'invalid-batches', 'batches[1].partitions'],
    ['no partitions', withBatch(1, { partitions: undefined }), 'invalid-batches', 'batches[1].partitions'],
    ['a partition that there is none', withBatch(0, { partitions: [1, 65_536] }), 'invalid-batches', 'batches[0].partitions[1]'],
    ['a partition that is no integer', withBatch(0, { partitions: [1, 1.5] }), 'invalid-batches', 'batches[0].partitions[1]'],
    ['partitions as text', withBatch(0, { partitions: 'ab' }), 'invalid-batches', 'batches[0].partitions'],
  ])('with %s are refused, and can still be submitted', async (_what, wrong, code, field) => {
    const request = await requestOf();
    const body = wrong(request);
    const answer = await log.refuses(log.publish(body), 400, { code });
    expect(answer.json.field).toBe(field);
    expect((await log.publish(request)).status).toBe(200);
  });

  test('are bounded in number, and in that of their records', async () => {
    const { batch, segment } = await requestOf();
    const many = Array.from({ length: UPLOAD_BATCHES_MAX + 1 }, (_, at) => ({
      offset: at * 70,
      bytes: 70,
      count: 1,
      crc: 0,
      partitions: [1],
    }));
    await log.refuses(log.publish({ batch, segment, batches: many }), 400, { code: 'invalid-batches', field: 'batches' });
    const partitions = Array.from({ length: 10_000 }, () => 1);
    const large = Array.from({ length: 101 }, (_, at) => ({ offset: at * 70, bytes: 70, count: 10_000, crc: 0, partitions }));
    await log.refuses(log.publish({ batch, segment, batches: large }), 400, { code: 'invalid-batches', field: 'batches[100].partitions' });
    await log.refuses(log.publish({ batch, segment, batches: [{ ...large[0], partitions: [...partitions, 1] }] }), 400, {
      code: 'invalid-batches',
      field: 'batches[0].partitions',
    });
  });

  test('belong to the segment that they say, which has to be there and open', async () => {
    const request = await requestOf();
    await log.refuses(log.publish(request, { 'kelp-segment': 's0000009' }), 400, { code: 'invalid-segment', field: 'segment' });
    expect((await log.publish({ ...request, segment: 's0000009' })).json).toMatchObject({ status: 404, code: 'segment-not-found' });
    const halves = await openLog(t, { segments: 2 });
    const batch = await uploaded(t, halves.topic, Buffer.concat(two));
    const upper = { batch, segment: 's0000001', batches: declared(two, PARTITION) };
    // `a` is in the lower half.
    expect((await halves.publish(upper)).json).toMatchObject({ status: 400, code: 'invalid-batches', field: 'batches[0].partitions' });
    expect((await halves.publish({ ...upper, segment: 's0000000' })).status).toBe(200);
  });

  test('whose lie is only in the store are refused by what is there', async () => {
    const liar = rawBatch({ records: [{ key: 'a', value: '3' }], attributes: 16 });
    const request = await requestOf({}, [batchOf('1', '2'), liar]);
    await log.refuses(log.publish(request), 400, { code: 'invalid-batches', field: 'batches[1].attributes' });
  });

  test('are looked for in the topic alone, and have to be there', async () => {
    const other = await openLog(t);
    const request = await requestOf();
    expect((await other.publish(request)).json).toMatchObject({ status: 404, code: 'upload-not-found', field: 'batch' });
    expect(await other.tail()).toBe(0);
  });

  test('are sent as JSON alone', async () => {
    const request = JSON.stringify(await requestOf());
    await log.refuses(log.publish(request, { 'content-type': 'application/x-ndjson' }), 400, { code: 'invalid-message', line: 1 });
  });
});
