import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { rawBatch } from '../format/raw-batch.ts';
import type { Answer, Sending } from '../http/test-app.ts';

/** Sends one request and reads its answer. */
export type Send = (method: string, path: string, sending?: Sending) => Promise<Answer>;

const VALUE = '{"id":9007199254740993, "z":-0,"one":1.0}';
const BINARY = Uint8Array.of(0xff, 0x00, 0xc3, 0x28);

/** The API's main ways once through, the same for a process and a function; answers what was published and read. `topic` is a name of the test's own. */
export async function goThrough(send: Send, topic: string): Promise<number> {
  const path = `/v1/topics/${topic}`;
  const made = await send('PUT', path, { body: { partitionKey: 'key', segments: 2, replicas: 2 } });
  expect(made.status).toBe(201);
  expect((await send('PUT', path, { body: { partitionKey: 'key', segments: 2, replicas: 2 } })).status).toBe(200);
  // Half a day away: where somebody leads, a flood that is near has segments split for it.
  const cron = `30 ${(new Date().getUTCHours() + 12) % 24} * * MON-FRI`;
  const flood = { cron, durationSeconds: 3_600, minSegments: 8, timeZone: 'Europe/Berlin' };
  const changed = await send('PATCH', path, { body: { replicas: 3, scaling: { maxSegments: 16, schedule: [flood] } } });
  expect([changed.status, changed.json]).toEqual([
    200,
    { ...made.json, replicas: 3, scaling: { ...made.json.scaling, maxSegments: 16, schedule: [flood] } },
  ]);
  expect((await send('GET', path)).json).toEqual(changed.json);
  const { segments } = (await send('GET', `${path}/segments`)).json;
  expect(segments.map(({ state, tail }: { state: string; tail: number }) => [state, tail])).toEqual([
    ['open', 0],
    ['open', 0],
  ]);
  const [low, high] = segments.map(({ segment }: { segment: string }) => segment) as [string, string];
  await publishInEveryForm(send, path, [low, high]);
  await publishOnce(send, path, low);
  const count = await readInEveryForm(send, path, low);
  await passByReference(send, path, high);
  await deleteAndMakeAgain(send, path, low);
  return count;
}

/** k0, k2 and k6 lie in the low half, k1 in the high one. */
async function publishInEveryForm(send: Send, path: string, [low, high]: readonly [string, string]): Promise<void> {
  const json = `{"messages":[{"key":"k0","value":${VALUE}},{"key":"k1","text":"größe 🚕"},{"key":"k2","tombstone":true}]}`;
  const first = await send('POST', `${path}/messages`, { body: json, headers: { 'content-type': 'application/json' } });
  expect(first.json.results).toEqual([
    { segment: low, offset: 0 },
    { segment: high, offset: 0 },
    { segment: low, offset: 1 },
  ]);
  const lines = zstdCompressSync(`${JSON.stringify({ key: 'k0', text: 'line' })}\n`);
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'zstd' };
  expect((await send('POST', `${path}/messages`, { body: lines, headers })).json.results).toEqual([{ segment: low, offset: 2 }]);
  const batch = gzipSync(
    rawBatch({
      records: [
        { key: 'k6', value: BINARY },
        { key: 'k6', value: 'second' },
      ],
    }),
  );
  const batchHeaders = { 'content-type': 'application/vnd.kelp.batch', 'content-encoding': 'gzip' };
  expect((await send('POST', `${path}/messages`, { body: batch, headers: batchHeaders })).json.results).toEqual([
    { segment: low, offset: 3, count: 2 },
  ]);
  const raw = { body: BINARY, headers: { 'content-type': 'application/octet-stream', 'kelp-header-a': '1' } };
  expect((await send('POST', `${path}/message?key=k0`, raw)).json).toEqual({ segment: low, offset: 5 });
}

async function publishOnce(send: Send, path: string, low: string): Promise<void> {
  const stamp = { 'kelp-segment': low, 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0', 'kelp-producer-sequence': '0' };
  const produced = { body: { messages: [{ key: 'k0', text: 'once' }] }, headers: stamp };
  expect((await send('POST', `${path}/messages`, produced)).json.results).toEqual([{ segment: low, offset: 6 }]);
  expect((await send('POST', `${path}/messages`, produced)).json.results).toEqual([{ segment: low, offset: 6, duplicate: true }]);
  const keyed = { body: { messages: [{ key: 'k0', text: 'keyed' }] }, headers: { 'idempotency-key': 'order 1' } };
  const placed = { segment: low, offset: 7 };
  expect((await send('POST', `${path}/messages`, keyed)).json.results).toEqual([placed]);
  expect((await send('POST', `${path}/messages`, keyed)).json.results).toMatchObject([placed]);
  const mismatch = await send('POST', `${path}/messages`, { ...keyed, headers: { 'kelp-match-tail': '1', 'kelp-segment': low } });
  expect([mismatch.status, mismatch.json.tail]).toEqual([412, 8]);
}

async function readInEveryForm(send: Send, path: string, low: string): Promise<number> {
  const segmentPath = `${path}/segments/${low}/messages`;
  const page = await send('GET', `${segmentPath}?offset=0`);
  expect(page.json).toMatchObject({ nextOffset: 8, tail: 8, sealed: false, successors: [] });
  expect(page.text).toContain(`"value":${VALUE}`);
  expect(
    page.json.messages.map((message: Record<string, unknown>) => message['text'] ?? message['bytes'] ?? message['tombstone'] ?? 'value'),
  ).toEqual(['value', true, 'line', '/wDDKA==', 'c2Vjb25k', '/wDDKA==', 'once', 'keyed']);
  const lines = await send('GET', `${segmentPath}?offset=6&limit=1`, { headers: { accept: 'application/x-ndjson' } });
  expect([lines.headers.get('kelp-next-offset'), lines.headers.get('cache-control')]).toEqual(['7', 'private, max-age=86400, immutable']);
  const raw = await send('GET', `${segmentPath}?offset=3&limit=1`, { headers: { accept: 'application/vnd.kelp.batch' } });
  expect([raw.headers.get('kelp-next-offset'), Buffer.from(raw.bytes).includes(Buffer.from(BINARY))]).toEqual(['5', true]);
  const topicPage = (await send('GET', `${path}/messages`)).json;
  expect(topicPage.messages).toHaveLength(9);
  expect((await send('GET', `${path}/messages?cursor=${topicPage.cursor}`)).json.messages).toEqual([]);
  expect((await send('GET', `${segmentPath}?offset=9`)).json).toMatchObject({ code: 'beyond-tail', tail: 8 });
  return topicPage.messages.length as number;
}

/** To the store and from there, past whoever answers. */
async function passByReference(send: Send, path: string, high: string): Promise<void> {
  const body = '<title>uploaded</title>';
  const sha256 = createHash('sha256').update(body).digest('hex');
  const content = { bytes: body.length, sha256, contentType: 'text/html' };
  const { upload, url, method, headers } = (await send('POST', `${path}/uploads`, { body: content })).json;
  const submitted = { body: { messages: [{ key: 'k1', upload }] } };
  expect((await send('POST', `${path}/messages`, submitted)).json.code).toBe('upload-missing');
  const { 'content-length': _length, ...sent } = headers;
  expect((await fetch(url, { method, headers: sent, body })).status).toBe(200);
  expect((await send('POST', `${path}/messages`, submitted)).json.results).toEqual([{ segment: high, offset: 1 }]);
  expect((await send('POST', `${path}/messages`, submitted)).json).toMatchObject({ code: 'upload-submitted', segment: high, offset: 1 });
  const page = (await send('GET', `${path}/segments/${high}/messages?offset=1`)).json;
  expect(page.messages).toMatchObject([{ key: 'k1', reference: { upload, ...content } }]);
  const stored = await fetch(page.messages[0].reference.url);
  expect([stored.headers.get('content-type'), stored.headers.get('content-disposition')]).toEqual([
    'application/octet-stream',
    'attachment',
  ]);
  expect(await stored.text()).toBe(body);
  const accept = { headers: { accept: 'application/vnd.kelp.references+json' } };
  const { references } = (await send('GET', `${path}/segments/${high}/messages`, accept)).json;
  for (const reference of references) {
    const stretch = await fetch(reference.url, { headers: reference.headers });
    expect([stretch.status, (await stretch.arrayBuffer()).byteLength]).toEqual([206, reference.bytes]);
  }
  expect(references.reduce((count: number, reference: { count: number }) => count + reference.count, 0)).toBe(2);
}

async function deleteAndMakeAgain(send: Send, path: string, low: string): Promise<void> {
  const { cursor } = (await send('GET', `${path}/messages`)).json;
  expect((await send('DELETE', path)).status).toBe(204);
  expect((await send('GET', `${path}/messages`)).json.code).toBe('topic-not-found');
  expect((await send('PUT', path, { body: { partitionKey: 'key' } })).status).toBe(201);
  expect((await send('GET', `${path}/messages?cursor=${cursor}`)).json.code).toBe('topic-replaced');
  expect((await send('GET', `${path}/segments/${low}/messages`)).json.code).toBe('topic-replaced');
  expect((await send('GET', `${path}/messages`)).json.messages).toEqual([]);
  expect((await send('DELETE', path)).status).toBe(204);
}
