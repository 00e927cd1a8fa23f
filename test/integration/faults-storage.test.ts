import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sharedStack } from '../stack.ts';
import { createSeededRandom, type SeededRandom } from '../simulation/seeded-random.ts';
import { readStores } from './crash/read-stores.ts';
import type { Fault, Passing } from './fault-proxy.ts';
import { type FaultyBroker, problemOf, startFaultyBroker } from './faulty-broker.ts';
import { isAny, isObjectGet, isObjectPut, slowDown, storeFailed, yetDone } from './proxied-requests.ts';

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const SEGMENT = 's0000000';
const TEST_MS = 90_000;
const PHASE = 150;

let faulty: FaultyBroker;

beforeAll(async () => {
  faulty = await startFaultyBroker();
}, TEST_MS);
afterEach(() => faulty.clear());
afterAll(() => faulty.close());

const bodyOf = (writer: string) => ({ messages: [{ key: 'a', value: { writer, number: 0, filler: '' } }] });
const soon = { 'kelp-timeout-ms': '1000' };
const pathOf = (topic: string, offset: number): string => `topics/${topic}/segments/${SEGMENT}/messages?offset=${offset}&limit=1`;

describe('F17 the store fails', () => {
  test.each([
    { name: '500', fault: storeFailed },
    { name: '500 though it is done', fault: yetDone(storeFailed) },
    { name: '503 SlowDown', fault: slowDown },
    { name: 'connections cut', fault: { kind: 'drop' } },
    { name: 'silence', fault: { kind: 'hold' } },
  ] satisfies { name: string; fault: Fault }[])(
    'every PUT, with $name: no ack, surely not stored, and it recovers by itself',
    async ({ name, fault }) => {
      const topic = await faulty.topic(`put-${name.replaceAll(/\W+/g, '-').toLowerCase()}`, 1);
      const planted = faulty.store.plant({ matches: isObjectPut, fault, count: Infinity });
      const failed = await faulty.publish(topic, bodyOf('one'), soon);
      expect([408, 503]).toContain((failed as { status: number }).status);
      expect(problemOf(failed)).toMatchObject({ retryable: true, indefinite: false });
      expect((await readStores(faulty.addresses, topic)).messages).toEqual([]);
      planted.end();
      expect(await faulty.publish(topic, bodyOf('one'), soon)).toMatchObject({ status: 200 });
      expect((await readStores(faulty.addresses, topic)).messages).toHaveLength(1);
    },
    TEST_MS,
  );

  const GETS = [
    { name: '500', fault: storeFailed },
    { name: '503 SlowDown', fault: slowDown },
    { name: 'bodies that are cut', fault: { kind: 'cut-answer' } },
    { name: 'connections cut', fault: { kind: 'drop' } },
  ] satisfies { name: string; fault: Fault }[];

  test(
    `the first two GETs of a read, with ${GETS.map(({ name }) => name).join(', ')}: the read is whole all the same`,
    async () => {
      const topics = await Promise.all(GETS.map((_, i) => faulty.topic(`get-${i}`, 1)));
      await Promise.all(topics.map((topic) => faulty.publish(topic, bodyOf('one'))));
      await faulty.restart();
      for (const [i, { fault }] of GETS.entries()) {
        const planted = faulty.store.plant({ matches: isObjectGet, fault, count: 2 });
        const read = await faulty.get(pathOf(topics[i] ?? '', 0));
        expect(read).toMatchObject({ status: 200 });
        expect(JSON.parse((read as { text: string }).text)).toMatchObject({ messages: [{ offset: 0, value: { writer: 'one' } }] });
        expect(planted.times()).toBe(2);
        planted.end();
      }
    },
    TEST_MS,
  );
});

/** Strikes with this probability, in an order that the seed decides. */
function sometimes(random: SeededRandom, probability: number, of: (request: Passing) => boolean) {
  return (request: Passing): boolean => of(request) && random.chance(probability);
}

const KINDS: readonly [name: string, fault: Fault][] = [
  ['failed', storeFailed],
  ['failed but done', yetDone(storeFailed)],
  ['slow down', slowDown],
  ['lost', { kind: 'lose-answer' }],
  ['late', { kind: 'late' }],
  ['dropped', { kind: 'drop' }],
  ['cut', { kind: 'cut-answer' }],
  ['slow', { kind: 'delay', ms: 300 }],
];

describe(`a storm of faults of the store (KELP_TEST_SEED=${SEED})`, () => {
  test(
    'on a fourth of its requests: nothing acked is lost, nothing doubled, nothing refused is read',
    async () => {
      const topic = await faulty.topic('storm', 3);
      const random = createSeededRandom(`store ${SEED}`);
      const load = { topic, producers: 1, keyed: 1, plain: 2, timeoutMs: 3_000, patienceMs: 60_000 };
      const crew = await faulty.crew({ ...load, random: random.fork('crew') });
      const planted = KINDS.map(([name, fault]) =>
        faulty.store.plant({ matches: sometimes(random.fork(name), 0.03, isAny), fault, count: Infinity }),
      );
      await crew.acked(2 * PHASE);
      faulty.clear();
      await crew.acked(PHASE / 2);
      expect(await faulty.findings(topic, crew)).toEqual([]);
      expect(planted.some(({ times }) => times() > 0)).toBe(true);
    },
    TEST_MS,
  );
});

describe('F18 an object is damaged in SeaweedFS', () => {
  const { store } = sharedStack();
  const s3 = new S3Client({
    endpoint: store.endpoint,
    region: store.region,
    forcePathStyle: true,
    credentials: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
  });
  afterAll(() => s3.destroy());

  /** Three messages in three objects; the second one's key and bytes. */
  async function threeObjects(name: string): Promise<{ topic: string; key: string; bytes: Buffer }> {
    const topic = await faulty.topic(name, 1);
    const { id } = JSON.parse(((await faulty.get(`topics/${topic}`)) as { text: string }).text) as { id: string };
    const keys: (string | undefined)[] = [];
    for (const writer of ['one', 'two', 'three']) {
      await faulty.publish(topic, bodyOf(writer));
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: store.bucket, Prefix: `log/${id}/` }));
      keys.push(...Contents.map(({ Key }) => Key).filter((Key) => !keys.includes(Key)));
    }
    const key = keys[1] ?? '';
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: store.bucket, Key: key }));
    return { topic, key, bytes: Buffer.from((await Body?.transformToByteArray()) ?? []) };
  }

  const truncated = (bytes: Buffer): Buffer => bytes.subarray(0, -3);
  const flipped = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 9 ? byte ^ 4 : byte)));
  const throughGateway = async (key: string, bytes: Buffer): Promise<void> => {
    await s3.send(new PutObjectCommand({ Bucket: store.bucket, Key: key, Body: bytes }));
  };
  /** Behind the gateway's back, as a failing disk would. */
  const throughFiler = async (key: string, bytes: Buffer): Promise<void> => {
    const url = `${sharedStack().filer}/buckets/${store.bucket}/${key}`;
    const { ok } = await fetch(url, { method: 'PUT', body: bytes, headers: { 'content-type': 'application/octet-stream' } });
    if (!ok) throw new Error('the filer did not take it');
  };

  test(
    'truncated, or with a flipped bit: a typed problem, never wrong data, and the others are still readable',
    async () => {
      const damages = [
        { ...(await threeObjects('truncated')), damage: truncated, put: throughGateway },
        { ...(await threeObjects('flipped')), damage: flipped, put: throughFiler },
      ];
      for (const { key, bytes, damage, put } of damages) await put(key, damage(bytes));
      await faulty.restart();
      for (const { topic, key, bytes, put } of damages) {
        const damaged = await faulty.get(pathOf(topic, 1));
        expect(damaged).toMatchObject({ status: 500 });
        expect(problemOf(damaged)).toMatchObject({ code: 'corrupt', retryable: false, topic, segment: SEGMENT, offset: 1, object: key });
        for (const [offset, writer] of [
          [0, 'one'],
          [2, 'three'],
        ] as const) {
          const { text } = (await faulty.get(pathOf(topic, offset))) as { text: string };
          expect(JSON.parse(text)).toMatchObject({ messages: [{ offset, value: { writer } }] });
        }
        await put(key, bytes);
        expect(await faulty.get(pathOf(topic, 1))).toMatchObject({ status: 200 });
      }
    },
    TEST_MS,
  );
});
