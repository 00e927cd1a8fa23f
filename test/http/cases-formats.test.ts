import { beforeEach, describe, expect, test } from 'vitest';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import type { StoredMessage } from '../../src/model/message.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const BATCH = { accept: 'application/vnd.kelp.batch' };

test('NDJSON says in headers what JSON says around the messages', async () => {
  const log = await openLog(t);
  await log.publish({
    messages: [
      { key: 'a', text: '1\n' },
      { key: 'a', text: '2' },
      { key: 'a', text: '3' },
    ],
  });
  const page = await log.read('?limit=2', { accept: 'application/x-ndjson' });
  const lines = page.text.split('\n');
  expect(lines.pop()).toBe('');
  expect(lines.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(['1\n', '2']);
  const headers = ['kelp-next-offset', 'kelp-tail', 'kelp-sealed', 'kelp-successors'].map((name) => page.headers.get(name));
  expect(headers).toEqual(['2', '3', 'false', '']);
});

async function recordsOf(batches: Uint8Array): Promise<readonly StoredMessage[]> {
  const messages: StoredMessage[] = [];
  for (const { bytes } of splitBatches(batches)) {
    const base = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0));
    messages.push(...(await decodeBatch(bytes, base, t.deps.compression)));
  }
  return messages;
}

describe('record batches', () => {
  test('of a segment come whole, with their offsets', async () => {
    const log = await openLog(t);
    const sent = [
      rawBatch({ records: [{ value: '0' }, { value: '1' }, { value: '2' }] }),
      rawBatch({ records: [{ value: '3' }], baseOffset: 77n }),
    ];
    for (const batch of sent) await log.publish(batch, { 'content-type': 'application/vnd.kelp.batch' });
    const first = await log.read('?offset=1&limit=1', BATCH);
    expect([first.headers.get('kelp-offset'), first.headers.get('kelp-next-offset')]).toEqual(['1', '3']);
    const rest = await log.read('?offset=3', BATCH);
    expect([rest.headers.get('kelp-offset'), rest.headers.get('kelp-next-offset'), rest.headers.get('kelp-tail')]).toEqual(['3', '4', '4']);
    const batches = [...splitBatches(Buffer.concat([first.bytes, rest.bytes]))];
    expect(batches.map(({ bytes }) => new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0))).toEqual([0n, 3n]);
    batches.forEach(({ bytes }, index) => expect(Buffer.compare(bytes.subarray(8), sent[index]!.subarray(8))).toBe(0));
    expect((await log.read('?offset=4', BATCH)).bytes).toHaveLength(0);
  });

  test('of a topic come in frames', async () => {
    const log = await openLog(t, { segments: 2 });
    const keys = ['k0', 'k1', 'k2', 'k3', 'k6', 'k4'];
    for (const key of keys) await log.publish(one({ key, text: key }));
    const page = await t.send('GET', `/v1/topics/${log.topic}/messages`, { headers: BATCH });
    expect(page.headers.get('content-type')).toBe('application/vnd.kelp.batch; framing=segment');
    const found: string[] = [];
    for (let at = 0; at < page.bytes.length;) {
      const feed = page.bytes.indexOf(0x0a, at);
      const [segment, first, next, size] = Buffer.from(page.bytes.subarray(at, feed)).toString().split(' ');
      const body = page.bytes.subarray(feed + 1, feed + 1 + Number(size));
      const own = (await recordsOf(body)).filter(({ offset }) => offset >= Number(first) && offset < Number(next));
      found.push(...own.map(({ offset, key }) => `${segment} ${offset} ${Buffer.from(key)}`));
      at = feed + 1 + Number(size);
    }
    const json = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.messages;
    expect(found.toSorted()).toEqual(
      json
        .map((message: { segment: string; offset: number; key: string }) => `${message.segment} ${message.offset} ${message.key}`)
        .toSorted(),
    );
    expect(found).toHaveLength(6);
    const after = await t.send('GET', `/v1/topics/${log.topic}/messages?cursor=${page.headers.get('kelp-cursor')}`);
    expect(after.json.messages).toEqual([]);
  });
});

test('pages below the tail are immutable for their caller, all others are not stored', async () => {
  const log = await openLog(t);
  await log.publish({
    messages: [
      { key: 'a', text: '1' },
      { key: 'a', text: '2' },
    ],
  });
  for (const accept of ['application/json', 'application/x-ndjson']) {
    const page = await log.read('?offset=0&limit=1', { accept });
    expect([page.headers.get('cache-control'), page.headers.get('vary')]).toEqual([
      'private, max-age=86400, immutable',
      'Accept, Authorization',
    ]);
  }
  for (const query of ['?offset=0', '?limit=1', '?timestamp=0&limit=1', '?from=earliest&limit=1', '?offset=2']) {
    expect([query, (await log.read(query)).headers.get('cache-control')]).toEqual([query, 'no-store']);
  }
  expect((await t.send('GET', `/v1/topics/${log.topic}/messages?limit=1`)).headers.get('cache-control')).toBe('no-store');
});
