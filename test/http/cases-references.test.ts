import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { headKey } from '../../src/format/item-key.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { batchObjectKey } from '../../src/format/object-key.ts';
import { REFERENCE_MS, REFERENCES_BATCHES_MAX } from '../../src/model/upload-limits.ts';
import { type Follow, followReferences, REFERENCES, type StretchReference } from '../clients/follow-references.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const BATCH_TYPE = { 'content-type': 'application/vnd.kelp.batch' };
const forEver = new AbortController().signal;

const follow = (): Follow => ({
  send: ({ method, url, headers }) => t.presigner.send({ method, url, headers }, forEver),
  compression: t.deps.compression,
});
const valuesOf = async (references: readonly StretchReference[]): Promise<string[]> =>
  (await followReferences(follow(), references)).map(({ offset, value }) => `${offset}=${value}`);

/** One request with as many batches as there are counts, whose values are their offsets. */
async function publishBatches(log: Log, counts: readonly number[], from = 0): Promise<number> {
  let next = from;
  const batches = counts.map((count) => rawBatch({ records: Array.from({ length: count }, () => ({ value: String(next++) })) }));
  expect((await log.publish(Buffer.concat(batches), BATCH_TYPE)).status).toBe(200);
  return next;
}

describe('references to batches of a segment', () => {
  test('neighbours in one object are one of them; what comes there are the messages', async () => {
    const log = await openLog(t);
    await publishBatches(log, [2, 1, 3]);
    await publishBatches(log, [1], 6);
    const beforeMs = Date.now();
    const answer = await log.read('', REFERENCES);
    const afterMs = Date.now();
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      REFERENCES.accept,
      'no-store',
    ]);
    const { references, expiresAt, ...rest } = answer.json;
    expect(rest).toEqual({ nextOffset: 7, tail: 7, sealed: false, successors: [] });
    // Between the two, however long it took, and the begin of that second.
    expect(Date.parse(expiresAt) - REFERENCE_MS).toBeGreaterThanOrEqual(Math.floor(beforeMs / 1_000) * 1_000);
    expect(Date.parse(expiresAt) - REFERENCE_MS).toBeLessThanOrEqual(afterMs);
    expect(
      references.map(({ firstOffset, count, batches }: StretchReference) => [firstOffset, count, batches.map((each) => each.firstOffset)]),
    ).toEqual([
      [0, 6, [0, 2, 3]],
      [6, 1, [6]],
    ]);
    expect(await valuesOf(references)).toEqual(['0=0', '1=1', '2=2', '3=3', '4=4', '5=5', '6=6']);
  });

  test('from an offset within a batch, which comes whole: records before it are not asked for', async () => {
    const log = await openLog(t);
    await publishBatches(log, [4, 2]);
    const { references } = (await log.read('?offset=3&limit=1', REFERENCES)).json;
    expect(references).toMatchObject([{ firstOffset: 3, count: 1, batches: [{ firstOffset: 0, count: 4 }] }]);
    expect(await valuesOf(references)).toEqual(['3=3']);
  });

  test('an answer has as many as it may, and the next one goes on', async () => {
    const log = await openLog(t);
    await publishBatches(log, Array<number>(REFERENCES_BATCHES_MAX + 1).fill(1));
    const [page, next] = [await log.read('', REFERENCES), await log.read(`?offset=${REFERENCES_BATCHES_MAX}`, REFERENCES)];
    expect(page.json).toMatchObject({ references: [{ count: REFERENCES_BATCHES_MAX }], nextOffset: REFERENCES_BATCHES_MAX });
    expect(next.json).toMatchObject({ references: [{ count: 1 }], nextOffset: REFERENCES_BATCHES_MAX + 1 });
  });

  test('any batches, any page: all of them are all messages', async () => {
    const layouts = fc.array(fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(layouts, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 900 }), async (layout, limit, maxBytes) => {
        const log = await openLog(t);
        let written = 0;
        for (const counts of layout) written = await publishBatches(log, counts, written);
        const read: string[] = [];
        for (let offset = 0; offset < written;) {
          const page = (await log.read(`?offset=${offset}&limit=${limit}&maxBytes=${maxBytes}`, REFERENCES)).json;
          read.push(...(await valuesOf(page.references)));
          expect(page.nextOffset).toBeGreaterThan(offset);
          offset = page.nextOffset;
        }
        expect(read).toEqual(Array.from({ length: written }, (_, offset) => `${offset}=${offset}`));
      }),
      { numRuns: 40 },
    );
  });

  test('at the tail there are none; a wait ends with the first; a time and the tail are places as elsewhere', async () => {
    const log = await openLog(t);
    await log.publish({ messages: [10, 20, 30].map((timestamp) => ({ key: 'a', text: String(timestamp), timestamp })) });
    expect((await log.read('?from=latest', REFERENCES)).json).toMatchObject({ references: [], nextOffset: 3, tail: 3 });
    const late = (await log.read('?timestamp=20', REFERENCES)).json;
    expect(await valuesOf(late.references)).toEqual(['1=20', '2=30']);
    const waiting = log.read('?from=latest&waitMs=20000', REFERENCES);
    await log.publish(one({ key: 'a', text: 'news' }));
    expect(await valuesOf((await waiting).json.references)).toEqual(['3=news']);
    expect((await log.read('?offset=9', REFERENCES)).status).toBe(416);
  });

  test('pages have bounds of their own, on both reads', async () => {
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: 'x' }));
    const topic = `/v1/topics/${log.topic}/messages`;
    for (const [query, references, json] of [
      ['?limit=1000000&maxBytes=268435456', 200, 400],
      ['?limit=1000001', 400, 400],
      ['?maxBytes=268435457', 400, 400],
      ['?limit=0', 400, 400],
      ['?waitMs=25001', 400, 400],
    ] as const) {
      expect([query, (await log.read(query, REFERENCES)).status, (await log.read(query)).status]).toEqual([query, references, json]);
      expect([query, (await t.send('GET', topic + query, { headers: REFERENCES })).status]).toEqual([query, references]);
    }
    expect((await log.read('?nothing=1', REFERENCES)).status).toBe(400);
    const head = await t.send('HEAD', `/v1/topics/${log.topic}/segments/${log.segment}/messages`, { headers: REFERENCES });
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
  });

  test('a damaged header is corrupt, and named; what lies before and behind is read', async () => {
    const log = await openLog(t);
    await publishBatches(log, [1]);
    await publishBatches(log, [2], 1);
    await publishBatches(log, [1], 3);
    const { id } = (await t.send('GET', `/v1/topics/${log.topic}`)).json;
    const item = await t.table.get(headKey(id, log.segment as never), forEver);
    const entry = decodeHead(item ?? {}).entries[1];
    if (entry === undefined) throw new Error('no entry');
    const object = batchObjectKey(id, entry.object.minute, entry.object.id);
    const bytes = Uint8Array.from(await t.store.getRange(object, 0, 1_000_000, forEver));
    bytes[(entry.runs[0]?.start ?? 0) + 16] = 1;
    // Another app on the same stores, which has not just written it.
    const fresh = createTestApp({ table: t.table, store: t.store, presigner: t.presigner });
    await t.store.delete(object, forEver);
    await t.store.put(object, [bytes], forEver);
    const path = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
    const read = (offset: number) => fresh.send('GET', `${path}?offset=${offset}`, { headers: REFERENCES });
    expect((await read(0)).json).toMatchObject({ nextOffset: 1 });
    const broken = await read(1);
    const where = { topic: log.topic, segment: log.segment, offset: 1, nextOffset: 3, object };
    expect([broken.status, broken.json]).toMatchObject([500, { code: 'corrupt', ...where }]);
    expect(await valuesOf((await read(3)).json.references)).toEqual(['3=3']);
  });
});

test('references to batches of a topic say whose they are, and go on by the cursor of any format', async () => {
  const log = await openLog(t, { segments: 2 });
  const messages = Array.from({ length: 40 }, (_, index) => ({ key: `k${index}`, text: String(index) }));
  await log.publish({ messages });
  const path = `/v1/topics/${log.topic}/messages`;
  const first = (await t.send('GET', `${path}?limit=6`)).json;
  const rest = (await t.send('GET', `${path}?cursor=${first.cursor}`, { headers: REFERENCES })).json;
  const followed = await followReferences(follow(), rest.references);
  const seen = [...first.messages.map(({ text }: { text: string }) => text), ...followed.map(({ value }) => value)];
  expect(seen.toSorted()).toEqual(messages.map(({ text }) => text).toSorted());
  expect(new Set(followed.map(({ segment }) => segment)).size).toBe(2);
  expect((await t.send('GET', `${path}?cursor=${rest.cursor}`)).json.messages).toEqual([]);
  const waiting = t.send('GET', `${path}?cursor=${rest.cursor}&waitMs=20000`, { headers: REFERENCES });
  await log.publish(one({ key: 'k0', text: 'news' }));
  expect((await followReferences(follow(), (await waiting).json.references)).map(({ value }) => value)).toEqual(['news']);
});

test('whoever takes several types gets references before streams, and JSON before references', async () => {
  const log = await openLog(t);
  const typeOf = async (accept: string) => (await log.read('', { accept })).headers.get('content-type');
  expect(await typeOf(`text/event-stream, ${REFERENCES.accept}`)).toBe(REFERENCES.accept);
  expect(await typeOf(`${REFERENCES.accept}, application/json`)).toBe('application/json');
  expect((await t.send('GET', '/v1')).json.formats.read).toContain(REFERENCES.accept);
});
