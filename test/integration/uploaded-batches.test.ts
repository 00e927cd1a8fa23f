import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { uploadKey } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { encodeUpload } from '../../src/format/upload-item.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import type { Upload } from '../../src/model/upload.ts';
import { type RawBatch, rawBatch } from '../format/raw-batch.ts';
import { contentOf, declared } from '../http/some-upload.ts';
import { leftInShort, stage } from '../reference/some-uploads.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { sendRaw } from './raw-request.ts';
import { callerOf, runServe, type Served } from './run-serve.ts';

// Record batches that clients put to the store themselves, and processes that look at them afterwards and clean up by themselves.

const TEST_MS = 60_000;
const POLL_MS = 50;
const clock = createSystemClock();
const { signal } = new AbortController();
const PATH = '/v1/topics/t';

type Stores = { readonly table: ReturnType<typeof createLeanTable>; readonly store: ReturnType<typeof createLeanStore> };

/** A process on a table of its own, with a topic of two segments. */
async function start(environment: Readonly<Record<string, string>>): Promise<{ broker: Served; stores: Stores; topic: Topic }> {
  const addresses = { store: sharedStack().store, table: await freshTable('dynoxide', AbortSignal.timeout(TEST_MS)) };
  const broker = await runServe({ ...addresses, environment: { ...environment, KELP_REBALANCE_MS: '0' } });
  const made = await callerOf(broker)('PUT', PATH, { partitionKey: 'key', segments: 2 });
  const stores = { table: createLeanTable({ ...addresses.table, clock }), store: createLeanStore({ ...addresses.store, clock }) };
  return { broker, stores, topic: (await made.json()) as Topic };
}

async function until<T>(ask: () => Promise<T>, isIt: (answer: T) => boolean): Promise<T> {
  const ends = AbortSignal.timeout(TEST_MS);
  for (;;) {
    const answer = await ask();
    if (isIt(answer)) return answer;
    await clock.sleep(POLL_MS, ends);
  }
}

async function end(broker: Served | undefined): Promise<string> {
  broker?.signal('SIGTERM');
  return (await broker?.exited)?.errors ?? '';
}

const keyIn = (inFirst: boolean): string =>
  Array.from({ length: 100 }, (_, n) => `k${n}`).find((key) => partitionOf(Buffer.from(key)) < 32_768 === inFirst) ?? '';
const [MINE, OTHERS] = [keyIn(true), keyIn(false)];
const good = (...values: readonly string[]): RawBatch => ({ records: values.map((value) => ({ key: MINE, value })) });

describe('a process', () => {
  let at: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    at = await start({ KELP_SWEEP_MS: '0' });
  }, TEST_MS);
  afterAll(() => end(at.broker));

  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await callerOf(at.broker)(method, path, body);
    return { status: answer.status, json: (await answer.json()) as any };
  };

  /** Sent as a client does, and submitted with what an honest client says of each batch. */
  async function submit(batches: readonly RawBatch[]): Promise<{ readonly upload: string; readonly offset: number }> {
    const bodies = batches.map((batch) => rawBatch(batch));
    const body = Buffer.concat(bodies);
    const { json: request } = await ask('POST', `${PATH}/uploads`, contentOf(body, 'application/vnd.kelp.batch'));
    expect((await sendRaw(request, body)).status).toBe(200);
    const submitted = { batch: request.upload, segment: 's0000000', batches: declared(bodies, partitionOf(Buffer.from(MINE))) };
    const { status, json } = await ask('POST', `${PATH}/messages`, submitted);
    expect(status).toBe(200);
    return { upload: request.upload, offset: json.results[0].offset };
  }
  const stateOf = async (upload: string) => (await ask('GET', `${PATH}/uploads/${upload}`)).json;
  const isChecked = async (upload: string): Promise<boolean> =>
    (await at.stores.table.get(uploadKey(at.topic.id, upload as Upload['upload']), signal))?.['checked'] === true;
  const values = async (): Promise<string[]> => {
    const texts: string[] = [];
    for (let offset = 0; ;) {
      const { json } = await ask('GET', `${PATH}/segments/s0000000/messages?offset=${offset}`);
      for (const { bytes } of json.messages) texts.push(Buffer.from(bytes, 'base64').toString());
      offset = json.nextOffset;
      if (offset === json.tail) return texts;
    }
  };

  test(
    'looks at them in the background, quarantines those of a liar, and its readers pass over these',
    async () => {
      const honest = await submit([good('1', '2'), good('3')]);
      await until(
        () => isChecked(honest.upload),
        (checked) => checked,
      );
      expect((await stateOf(honest.upload)).quarantined).toBeUndefined();
      const body = Buffer.from('nothing that anybody could read');
      const liar = await submit([
        good('4'),
        { ...good('wrong checksum'), crcOff: 1 },
        good('5'),
        { records: [{ key: OTHERS, value: 'of another segment' }] },
        { ...good('-', '-'), body, count: 2 },
        {
          records: [
            { key: MINE, value: 'times' },
            { key: MINE, timestampDelta: 9 },
          ],
          maxTimestamp: 1_700_000_000_000,
        },
        good('6'),
      ]);
      const { quarantined } = await until(
        () => stateOf(liar.upload),
        (upload) => upload.quarantined !== undefined,
      );
      expect(quarantined).toEqual([
        { offset: liar.offset + 1, count: 1 },
        { offset: liar.offset + 3, count: 5 },
      ]);
      // What a reader knows of an upload that nobody had looked at is believed for a moment.
      await until(values, (texts) => texts.length === 6 && texts.join() === '1,2,3,4,5,6');
      expect((await ask('POST', '/v1/sweep')).json).toMatchObject({ complete: true, uploads: { examined: 2, checked: 0, failed: 0 } });
      const metrics = await (await callerOf(at.broker)('GET', '/metrics')).text();
      expect(metrics).toMatch(/^kelp_uploads_quarantined_total(\{.*\})? 6$/m);
      expect(metrics).toMatch(/^kelp_uploads_checked_total(\{.*\})? 2$/m);
    },
    TEST_MS,
  );

  test(
    'leaves what the store has damaged to be found as damage',
    async () => {
      const { upload } = await submit([good('7')]);
      await until(
        () => isChecked(upload),
        (checked) => checked,
      );
      const { table, store } = at.stores;
      const key = uploadKey(at.topic.id, upload as Upload['upload']);
      const item = await table.get(key, signal);
      const { checked: _, ...unchecked } = item ?? {};
      await table.put(key, unchecked, [], signal);
      const object = uploadObjectKey(at.topic.id, upload as Upload['upload']);
      const bytes = await store.getRange(object, 0, 1_000, signal);
      await store.put(object, [bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1)], signal);
      expect((await ask('POST', '/v1/sweep')).json.uploads).toMatchObject({ checked: 0, quarantined: 0, failed: 1 });
      await store.put(object, [bytes], signal);
      expect((await ask('POST', '/v1/sweep')).json.uploads).toMatchObject({ checked: 1, quarantined: 0, failed: 0 });
    },
    TEST_MS,
  );
});

test(
  'a process sweeps by itself, and stops at once while it does',
  async () => {
    const { broker, stores, topic } = await start({ KELP_SWEEP_MS: '1000' });
    const old = await stage(stores, topic, { nowMs: clock.nowMs() - 2 * UPLOAD_MS, name: 'old' });
    await stage(stores, topic, { nowMs: clock.nowMs(), name: 'new' });
    await until(
      () => leftInShort(stores, topic),
      (left) => left === 'staged, 1 objects',
    );
    // Again what a paused broker puts, and as much as keeps it busy.
    for (let n = 0; n < 50; n += 1) {
      const upload = { ...old, upload: `${old.upload.slice(0, -2)}${String(n).padStart(2, '0')}` as Upload['upload'] };
      await stores.table.put(uploadKey(topic.id, upload.upload), encodeUpload(upload), [], signal);
    }
    const beganMs = clock.monotonicMs();
    const lines = (await end(broker)).split('\n').filter((line) => line.includes('"swept"'));
    expect(clock.monotonicMs() - beganMs).toBeLessThan(5_000);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', message: 'swept', uploads: { failed: 0 } });
    expect((await broker.exited).code).toBe(0);
  },
  TEST_MS,
);
