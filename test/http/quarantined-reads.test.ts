import { beforeEach, describe, expect, test } from 'vitest';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import { READ_MESSAGES_DEFAULT } from '../../src/model/limits.ts';
import { followReferences, REFERENCES } from '../clients/follow-references.ts';
import { message } from '../consume/fixture.ts';
import { appendUpload, find, type Uploaded, type UploadTarget } from '../consume/uploaded.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
let log: Log;
let place: UploadTarget;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
  const { id } = (await t.send('GET', `/v1/topics/${log.topic}`)).json;
  place = { table: t.table, store: t.store, clock: t.deps.clock, topic: { id: id as TopicId } };
});

const forEver = new AbortController().signal;

/** Batches of one message each; the places of those that are bad. */
async function upload(values: readonly string[], bad: readonly number[], checked = true): Promise<Uploaded> {
  const uploaded = await appendUpload(place, log.segment as SegmentId, { batches: values.map((value) => [message(value)]) });
  await find(place, uploaded, { checked, bad });
  return uploaded;
}

const bytesText = ({ bytes }: { readonly bytes: string }): string => Buffer.from(bytes, 'base64').toString();

describe('quarantined batches', () => {
  test('are passed over in every format, and the offsets of the others stay', async () => {
    await upload(['a', 'bad', 'b', 'bad', 'bad', 'c'], [1, 3, 4]);
    const path = `/v1/topics/${log.topic}/messages`;
    for (const target of [`/v1/topics/${log.topic}/segments/${log.segment}/messages`, path]) {
      const json = (await t.send('GET', target)).json.messages;
      expect(json.map((each: { offset: number; bytes: string }) => [each.offset, bytesText(each)])).toEqual([
        [0, 'a'],
        [2, 'b'],
        [5, 'c'],
      ]);
      const lines = (await t.send('GET', target, { headers: { accept: 'application/x-ndjson' } })).text.trim().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { offset: number }).offset)).toEqual([0, 2, 5]);
      const events = await t.events(target, 3);
      expect([...events.matchAll(/"offset":(\d+)/g)].map(([, offset]) => Number(offset))).toEqual([0, 2, 5]);
      const { references } = (await t.send('GET', target, { headers: REFERENCES })).json;
      const send = (request: Parameters<typeof t.presigner.send>[0]) => t.presigner.send(request, forEver);
      const followed = await followReferences(
        { send: ({ method, url, headers }) => send({ method, url, headers }), compression: t.deps.compression },
        references,
      );
      expect(followed.map(({ offset, value }) => [offset, value])).toEqual([
        [0, 'a'],
        [2, 'b'],
        [5, 'c'],
      ]);
      expect(references).toHaveLength(3);
    }
    const batches = await log.read('', { accept: 'application/vnd.kelp.batch' });
    expect(batches.headers.get('kelp-next-offset')).toBe('6');
    const frames = (await t.send('GET', path, { headers: { accept: 'application/vnd.kelp.batch' } })).text;
    expect([...frames.matchAll(/s0000000 (\d+) (\d+) \d+\n/g)].map(([, first, next]) => [first, next])).toEqual([
      ['0', '1'],
      ['2', '3'],
      ['5', '6'],
    ]);
  });

  test('of nothing else: an empty page, which ends behind them', async () => {
    await upload(['bad', 'bad'], [0, 1]);
    await log.publish(one({ key: 'k', text: 'x' }));
    for (const headers of [{}, { accept: 'application/x-ndjson' }, { accept: 'application/vnd.kelp.batch' }, REFERENCES]) {
      const page = await log.read('?offset=0&limit=2', headers);
      const next = page.headers.get('kelp-next-offset') ?? String(page.json.nextOffset);
      expect([page.status, next]).toEqual([200, '2']);
    }
  });

  test('a stream that ends with its first page goes on behind them, or its reader would never get there', async () => {
    // More than a stream holds at a time.
    const many = Array.from({ length: READ_MESSAGES_DEFAULT + 1 }, () => message('bad'));
    const uploaded = await appendUpload(place, log.segment as SegmentId, { batches: [many] });
    await find(place, uploaded, { checked: true, bad: [0] });
    await upload(['bad', 'good'], [0]);
    const still = createTestApp({
      table: t.table,
      store: t.store,
      presigner: t.presigner,
      change: () => ({ runtime: { streams: false, remainingMs: () => undefined } }),
    });
    const path = `/v1/topics/${log.topic}/segments/${log.segment}/messages?offset=1`;
    const stream = await still.send('GET', path, { headers: { accept: 'text/event-stream' } });
    expect([...stream.text.matchAll(/"offset":(\d+)/g)].map(([, offset]) => Number(offset))).toEqual([many.length + 1]);
  });

  test('a page that may still lose some is not kept by caches; once all was looked at it is', async () => {
    const uploaded = await upload(['a', 'b'], [], false);
    await log.publish(one({ key: 'k', text: 'x' }));
    const cache = async (query: string) => (await log.read(query)).headers.get('cache-control');
    expect(await cache('?offset=0&limit=2')).toBe('no-store');
    await find(place, uploaded, { checked: true, bad: [1] });
    const fresh = createTestApp({ table: t.table, store: t.store, presigner: t.presigner });
    const path = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
    const page = await fresh.send('GET', `${path}?offset=0&limit=1`);
    expect([page.headers.get('cache-control'), page.json.messages.length]).toEqual(['private, max-age=86400, immutable', 1]);
    expect((await fresh.send('GET', `${path}?offset=0&limit=1`, { headers: REFERENCES })).headers.get('cache-control')).toBe('no-store');
  });
});
