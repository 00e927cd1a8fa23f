import { beforeEach, describe, expect, test } from 'vitest';
import { encodeReference } from '../../src/format/reference.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { TopicId, UploadId } from '../../src/model/ids.ts';
import { FUNCTION_ANSWER_BYTES_MAX, FUNCTION_READ_BYTES_MAX } from '../../src/model/function-limits.ts';
import { partitionOf } from '../../src/model/partition.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { type Log, openLog } from './log.ts';
import { contentOf, declared, fetched, uploaded } from './some-upload.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const HELLO = Buffer.from('hello');
const signal = new AbortController().signal;
const NDJSON = { accept: 'application/x-ndjson' };
const EVENTS = { accept: 'text/event-stream' };

let t: TestApp;
let log: Log;
let path: string;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
  path = `/v1/topics/${log.topic}/messages`;
});

const topicId = async (): Promise<TopicId> => (await t.send('GET', `/v1/topics/${log.topic}`)).json.id;
const objectOf = async (id: string): Promise<string> => uploadObjectKey(await topicId(), id as UploadId);
const linesOf = (text: string): any[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const eventsOf = (text: string): { id: string; data: any }[] =>
  [...text.matchAll(/id: (.+)\ndata: (.+)\n\n/g)].map(([, id = '', data = '']) => ({ id, data: JSON.parse(data) }));

/** Uploads with these bytes, each published with its bytes' text as the key, texts beside them. */
async function publish(...bodies: Uint8Array[]): Promise<string[]> {
  const ids: string[] = [];
  for (const body of bodies) ids.push(await uploaded(t, log.topic, body));
  const messages = ids.flatMap((upload, n) => [
    { key: 'a', text: `before ${n}` },
    { key: 'a', upload },
  ]);
  expect((await log.publish({ messages })).status).toBe(200);
  return ids;
}

describe('a reference', () => {
  test('has a fresh URL in every form of both reads', async () => {
    const [id = ''] = await publish(HELLO);
    const reference = { upload: id, ...contentOf(HELLO) };
    const forms = [
      (await log.read()).json.messages[1],
      linesOf((await log.read('', NDJSON)).text)[1],
      eventsOf(await t.events(`/v1/topics/${log.topic}/segments/${log.segment}/messages`, 2))[1]?.data,
      (await t.send('GET', path)).json.messages[1],
      linesOf((await t.send('GET', path, { headers: NDJSON })).text)[1],
      eventsOf(await t.events(path, 2))[1]?.data,
    ];
    const urls: string[] = [];
    for (const form of forms) {
      const { url, ...rest } = form.reference;
      expect(rest).toEqual(reference);
      expect(form.headers).toEqual([]);
      expect(Object.keys(form).filter((name) => ['value', 'text', 'bytes', 'tombstone'].includes(name))).toEqual([]);
      expect(await fetched(t, url)).toBe('200 hello');
      urls.push(url);
    }
    expect(new Set(urls).size).toBe(forms.length);
  });

  test('is a header and a value in record batches, which hold no URL', async () => {
    const [id = ''] = await publish(HELLO);
    const { bytes } = await log.read('', { accept: 'application/vnd.kelp.batch' });
    const value = Buffer.from(encodeReference({ upload: id as UploadId, ...contentOf(HELLO) })).toString();
    expect(Buffer.from(bytes).toString('latin1')).toContain(value);
    expect(Buffer.from(bytes).toString('latin1')).toContain('kelp-kind\x0cupload');
  });

  test('is never cached, and what has none is', async () => {
    await log.publish({ messages: [{ key: 'a', text: 'x' }] });
    await publish(HELLO);
    await log.publish({ messages: [{ key: 'a', text: 'y' }] });
    for (const accept of ['application/json', 'application/x-ndjson']) {
      const cached = async (query: string): Promise<string | null> => (await log.read(query, { accept })).headers.get('cache-control');
      expect(await cached('?offset=0&limit=2')).toBe('private, max-age=86400, immutable');
      expect(await cached('?offset=0&limit=3')).toBe('no-store');
      expect(await cached('?offset=0&limit=3&inlineBytes=10')).toBe('no-store');
    }
  });

  test('that somebody has made up is bytes', async () => {
    const [id = ''] = await publish(HELLO);
    const value = encodeReference({ upload: id as UploadId, ...contentOf(HELLO) });
    await log.publish({ messages: [{ key: 'a', bytes: Buffer.from(value).toString('base64') }] });
    expect((await log.messages())[2]).toMatchObject({ bytes: Buffer.from(value).toString('base64'), headers: [] });
    // An uploaded batch that was not looked at yet can say anything, in another form too.
    const batches = ['{"upload":"http://169.254.169.254/"}', `${Buffer.from(value).toString()} `].map((text) =>
      rawBatch({ records: [{ key: 'a', value: text, headers: [['kelp-kind', 'upload']] }] }),
    );
    const batch = await uploaded(t, log.topic, Buffer.concat(batches));
    expect((await log.publish({ batch, segment: log.segment, batches: declared(batches, partitionOf(Buffer.from('a'))) })).status).toBe(
      200,
    );
    expect((await log.messages()).slice(3)).toMatchObject([
      { bytes: expect.any(String), headers: [['kelp-kind', 'upload']] },
      { bytes: expect.any(String), headers: [['kelp-kind', 'upload']] },
    ]);
  });
});

describe('inlineBytes', () => {
  const contents = (messages: any[]): unknown[] =>
    messages
      .filter(({ reference }) => reference !== undefined)
      .map(({ reference: { content, url } }) =>
        content === undefined ? (url === undefined ? 'nothing' : 'url') : Buffer.from(content, 'base64').toString(),
      );

  test('puts uploads up to so many bytes into the answer, in every form of both reads', async () => {
    await publish(HELLO, new Uint8Array(0), Buffer.from('hello!'));
    const segment = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
    for (const target of [segment, path]) {
      const json = await t.send('GET', `${target}?inlineBytes=5`);
      expect(contents(json.json.messages)).toEqual(['hello', '', 'url']);
      const lines = await t.send('GET', `${target}?inlineBytes=5`, { headers: NDJSON });
      expect(contents(linesOf(lines.text))).toEqual(['hello', '', 'url']);
      const events = eventsOf(await t.events(`${target}?inlineBytes=5`, 6)).map(({ data }) => data);
      expect(contents(events)).toEqual(['hello', '', 'url']);
      expect(contents((await t.send('GET', `${target}?inlineBytes=1048576`)).json.messages)).toEqual(['hello', '', 'hello!']);
      expect(contents((await t.send('GET', `${target}?inlineBytes=0`)).json.messages)).toEqual(['url', 'url', 'url']);
      expect(contents((await t.send('GET', target)).json.messages)).toEqual(['url', 'url', 'url']);
    }
  });

  test.each(['-1', '1048577', '1.5', '', 'x', '01'])('%j is refused', async (value) => {
    for (const headers of [{}, NDJSON, EVENTS]) {
      for (const target of [`/v1/topics/${log.topic}/segments/${log.segment}/messages`, path]) {
        const answer = await t.send('GET', `${target}?inlineBytes=${value}`, { headers });
        expect(answer.json).toMatchObject({ status: 400, code: 'invalid-inline-bytes', field: 'inlineBytes' });
      }
    }
  });

  test('is bounded by the answer, then URLs come again', async () => {
    const large = Buffer.alloc(1_048_576, 'x');
    await publish(large, large, large, large, HELLO);
    const { messages } = (await log.read('?inlineBytes=1048576')).json;
    expect(contents(messages).map((content) => (content as string).length)).toEqual([1_048_576, 1_048_576, 1_048_576, 1_048_576, 3]);
    expect(contents(messages).at(-1)).toBe('url');
  });

  test('is bounded in number', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 260; n += 1) ids.push(await uploaded(t, log.topic, HELLO));
    expect((await log.publish({ messages: ids.map((upload) => ({ key: 'a', upload })) })).status).toBe(200);
    const shown = contents((await log.read('?inlineBytes=5')).json.messages);
    expect(shown).toHaveLength(260);
    expect(shown.map((content) => content === 'hello')).toEqual(shown.map((_, at) => at < 256));
  });

  test('of an endpoint that answers less is bounded by that', async () => {
    t = createTestApp({ change: ({ limits }) => ({ limits: { ...limits, readBytesMax: 2_097_152 } }) });
    log = await openLog(t);
    const large = Buffer.alloc(1_048_576, 'x');
    await publish(large, large, HELLO);
    const { messages } = (await log.read('?inlineBytes=1048576')).json;
    expect(contents(messages).map((content) => (content as string).length)).toEqual([1_048_576, 1_048_576, 3]);
  });

  test('of a function leaves room for what is beside them', async () => {
    t = createTestApp({ change: ({ limits }) => ({ limits: { ...limits, readBytesMax: FUNCTION_READ_BYTES_MAX } }) });
    log = await openLog(t);
    const large = Buffer.alloc(1_048_576, 0xff);
    const ids = [await uploaded(t, log.topic, large), await uploaded(t, log.topic, large)];
    const beside = large.subarray(2_000).toString('base64');
    const messages = ids.flatMap((upload) => [
      { key: 'a', upload },
      { key: 'a', bytes: beside },
    ]);
    expect((await log.publish({ messages })).status).toBe(200);
    const page = await log.read('?inlineBytes=1048576&maxBytes=16777216');
    expect(contents(page.json.messages).map((content) => (content as string).length > 1_000_000)).toEqual([true, true]);
    expect(page.json.nextOffset).toBe(4);
    expect(JSON.stringify({ body: page.text }).length).toBeLessThan(FUNCTION_ANSWER_BYTES_MAX);
  });

  test.each(['missing', 'others', 'fewer'])('bytes that are %s are damage, which is named and passed', async (what) => {
    const [good = '', bad = ''] = await publish(HELLO, HELLO);
    const object = await objectOf(bad);
    if (what === 'missing') await t.store.delete(object, signal);
    else await t.store.put(object, [Buffer.from(what === 'others' ? 'hallo' : 'hell')], signal);
    // Its URL is still told: what it refers to never changes.
    expect((await log.messages())[3].reference.upload).toBe(bad);
    const before = (await log.read('?inlineBytes=5')).json;
    expect(before).toMatchObject({ messages: [{}, { reference: { upload: good } }, { text: 'before 1' }], nextOffset: 3, tail: 4 });
    const damage = { status: 500, code: 'corrupt', topic: log.topic, segment: log.segment, offset: 3, nextOffset: 4, object };
    expect((await log.read('?inlineBytes=5&offset=3')).json).toMatchObject(damage);
    expect((await log.read('?inlineBytes=5&offset=3', NDJSON)).json).toMatchObject(damage);
    expect((await log.read('?inlineBytes=5', NDJSON)).headers.get('kelp-next-offset')).toBe('3');
    expect((await log.read('?inlineBytes=5&offset=4')).json).toMatchObject({ messages: [], nextOffset: 4 });
    expect(t.telemetry.total('kelp.read.damaged')).toBe(2);

    const page = (await t.send('GET', `${path}?inlineBytes=5`)).json;
    expect(page.messages).toHaveLength(3);
    const rest = `${path}?cursor=${encodeURIComponent(page.cursor)}`;
    expect((await t.send('GET', `${rest}&inlineBytes=5`)).json).toMatchObject(damage);
    expect((await t.send('GET', rest)).json.messages).toMatchObject([{ offset: 3, reference: { upload: bad } }]);
    expect((await t.send('GET', `${path}?inlineBytes=5`, { headers: NDJSON })).headers.get('kelp-cursor')).toBe(page.cursor);
  });

  test('a stream ends before damage with its problem, at a position that leads there again', async () => {
    const [, bad = ''] = await publish(HELLO, HELLO);
    await t.store.delete(await objectOf(bad), signal);
    for (const target of [`/v1/topics/${log.topic}/segments/${log.segment}/messages`, path]) {
      const { text } = await t.send('GET', `${target}?inlineBytes=5`, { headers: EVENTS });
      const events = eventsOf(text);
      expect(events.map(({ data }) => data.offset)).toEqual([0, 1, 2]);
      expect(text).toMatch(/event: problem\ndata: .*"code":"corrupt".*\n\n$/);
      const again = await t.send('GET', `${target}?inlineBytes=5`, { headers: { ...EVENTS, 'last-event-id': events[2]?.id ?? '' } });
      expect(again.json).toMatchObject({ status: 500, code: 'corrupt', offset: 3 });
    }
  });

  test('a store that does not answer is no damage', async () => {
    t = createTestApp({
      change: ({ references }) => ({
        references: { ...references, contents: () => Promise.reject(new KelpError('unavailable', 'store-unavailable', 'down')) },
      }),
    });
    log = await openLog(t);
    await publish(HELLO);
    expect((await log.read('?inlineBytes=5')).json).toMatchObject({ status: 503, code: 'unavailable' });
  });
});
