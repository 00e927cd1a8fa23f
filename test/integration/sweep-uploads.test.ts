import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { wrapStore, wrapTable } from '../../src/adapters/wrap/stores.ts';
import { headKey } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import { uploadId } from '../../src/model/ids.ts';
import type { Complete, SweptUploads } from '../../src/model/sweep-report.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import type { Upload } from '../../src/model/upload.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { Placed } from '../../src/publish/request.ts';
import { createUpload } from '../../src/reference/create-upload.ts';
import { sweepUploads } from '../../src/reference/sweep-uploads.ts';
import { randomly } from '../faults/choose.ts';
import { createFaultyTable, type TableCall, type TableFault } from '../faults/faulty-table.ts';
import { contentOf } from '../http/some-upload.ts';
import { firstSegment, oneSegment } from '../publish/requests.ts';
import { submitOf } from '../publish/uploads.ts';
import { leftInShort } from '../reference/some-uploads.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { createKiller } from '../simulation/world-faults.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { sendRaw } from './raw-request.ts';

// Uploads from their announcement to their end, by the product's own code on SeaweedFS and both tables; time passes by clocks that are
// set.

const TEST_MS = 120_000;
const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const BODY = Buffer.from('what a client sends');
const system = createSystemClock();
const signal = (): AbortSignal => AbortSignal.timeout(TEST_MS);
/** A wall clock so far ahead. */
const ahead = (ms: number) => ({ ...system, nowMs: () => system.nowMs() + ms });

describe.each(['dynoxide', 'ministack'] as const)('on SeaweedFS and %s', (kind) => {
  let table: MetadataTable;
  let store: ObjectStore;
  // A sweep looks at all topics that there are.
  beforeEach(async () => {
    table = createLeanTable({ ...(await freshTable(kind, signal())), clock: system });
    store = createLeanStore({ ...sharedStack().store, clock: system });
  }, TEST_MS);

  const presigner = createPresigner({ ...sharedStack().store, clock: system });
  let brokers = 0;
  function broker(options: { readonly table?: MetadataTable; readonly store?: ObjectStore } = {}): TestBroker {
    brokers += 1;
    return createTestBroker({ table, store, clock: system, random: createSystemRandom(), wrapped: true, ...options });
  }
  const topicOf = async (name: string): Promise<Topic> =>
    (await broker().topics.create(`${name}-${randomBytes(4).toString('hex')}`, oneSegment, signal())).topic;

  /** Announced, and, unless only that, sent to the store as a client does it. */
  async function uploaded(topic: Topic, body: Buffer | undefined = BODY): Promise<Upload> {
    const deps = { ...broker().deps, presigner };
    const { upload, request } = await createUpload(deps, topic, contentOf(body ?? BODY), signal());
    if (body !== undefined) expect((await sendRaw(request, body.toString())).status).toBe(200);
    return upload;
  }
  const tailOf = async (topic: Topic): Promise<number> =>
    Number((await table.get(headKey(topic.id, firstSegment(topic)), signal()))?.['tail']);
  const submit = (topic: Topic, upload: Upload, by = broker()) => by.publisher.publish(topic, submitOf([upload.upload]), signal());

  /** A sweep of all uploads by a clock that is so far ahead. */
  function sweepAt(
    aheadMs: number,
    options: { readonly dryRun?: boolean; readonly table?: MetadataTable; readonly store?: ObjectStore } = {},
  ) {
    const { dryRun = false, table: ownTable = table, store: ownStore = store } = options;
    const clock = ahead(aheadMs);
    const { telemetry, compression } = broker().deps;
    const wrapping = { clock, telemetry, random: createSystemRandom() };
    const wrapped = wrapTable(ownTable, wrapping);
    const deps = { ...broker({ table: wrapped }).deps, ...wrapping, table: wrapped, store: wrapStore(ownStore, wrapping), compression };
    return sweepUploads(deps, { dryRun }, signal());
  }
  const uploadsOf = ({ complete, ...uploads }: SweptUploads & Complete) => {
    expect([uploads.failed, complete]).toEqual([0, true]);
    return uploads;
  };

  test(
    'what nobody submits goes when its time is over, what was submitted stays, and a dry run says so before',
    async () => {
      const topic = await topicOf('life');
      const [submitted] = [await uploaded(topic), await uploaded(topic)];
      await createUpload({ ...broker().deps, presigner }, topic, contentOf(BODY), signal());
      expect(await submit(topic, submitted)).toMatchObject([{ offset: 0 }]);
      const orphan = uploadObjectKey(topic.id, uploadId(system.nowMs(), '000orphan'));
      await store.put(orphan, [BODY], signal());

      const early = uploadsOf(await sweepAt(UPLOAD_MS - 60_000));
      expect(early).toMatchObject({ examined: 3, expired: 0, orphans: 1, bytes: BODY.length });
      expect(await leftInShort({ table, store }, topic)).toMatch(/^(?=.*submitted:0)(?=.*staged.*staged).*, 2 objects$/);

      const would = uploadsOf(await sweepAt(UPLOAD_MS + 60_000, { dryRun: true }));
      expect(would).toMatchObject({ examined: 3, expired: 2, orphans: 0, bytes: BODY.length });
      expect(uploadsOf(await sweepAt(UPLOAD_MS + 60_000))).toEqual(would);
      expect(await leftInShort({ table, store }, topic)).toBe('submitted:0, 1 objects');
      expect(uploadsOf(await sweepAt(10 * UPLOAD_MS))).toMatchObject({ examined: 1, expired: 0, orphans: 0 });
      expect(uploadsOf(await sweepAt(10 * UPLOAD_MS))).toMatchObject({ examined: 0 });
      const kept = await store.head(uploadObjectKey(topic.id, submitted.upload), signal());
      expect(kept).toMatchObject({ bytes: BODY.length });
    },
    TEST_MS,
  );

  test.each([
    ['has landed', true],
    ['has not landed', false],
  ])(
    'a submit that was stopped as its commit %s is resolved',
    async (_, lands) => {
      const topic = await topicOf('stopped');
      const upload = await uploaded(topic);
      const isCommit = ({ op, key }: TableCall): boolean => op === 'update' && key.pk.startsWith('h#');
      // The caller leaves as the commit is under way.
      const caller = new AbortController();
      const hangs = createFaultyTable(table, {
        clock: system,
        choose(call): TableFault | undefined {
          if (!isCommit(call)) return undefined;
          caller.abort(new KelpError('unavailable', 'timeout', 'the caller has left'));
          return { kind: 'hangs', applied: lands };
        },
      });
      const [result] = await broker({ table: hangs }).publisher.publish(topic, submitOf([upload.upload]), caller.signal);
      expect(result).toMatchObject({ code: 'indefinite' });
      await expect.poll(() => tailOf(topic), { timeout: TEST_MS }).toBe(lands ? 1 : 0);
      expect(await leftInShort({ table, store }, topic)).toBe('submitting, 1 objects');
      expect(uploadsOf(await sweepAt(0))).toMatchObject({ submitted: 0, staged: 0 });
      const late = lands ? { submitted: 1, staged: 0 } : { submitted: 0, staged: 1 };
      expect(uploadsOf(await sweepAt(3_600_000))).toMatchObject({ examined: 1, ...late });
      expect(await leftInShort({ table, store }, topic)).toBe(lands ? 'submitted:0, 1 objects' : 'staged, 1 objects');
      if (!lands) expect(await submit(topic, upload)).toMatchObject([{ offset: 0 }]);
    },
    TEST_MS,
  );

  test(
    'killed between any two of its steps, the next two leave nothing behind',
    async () => {
      const topic = await topicOf('killed');
      let steps = 0;
      for (let ended = false; !ended; steps += 1) {
        for (const done of [false, true]) {
          await uploaded(topic);
          const killer = createKiller({ table, store }, { at: steps + 1, done });
          const swept = sweepAt(UPLOAD_MS + 3_600_000, killer).then(() => 'survived');
          ended = (await Promise.race([swept, killer.struck.then(() => 'killed')])) === 'survived';
          for (let n = 0; n < 2; n += 1) uploadsOf(await sweepAt(UPLOAD_MS + 3_600_000));
          expect(await leftInShort({ table, store }, topic)).toBe('0 objects');
        }
      }
      expect(steps).toBeGreaterThan(8);
    },
    TEST_MS,
  );

  test(
    `what is submitted while sweeps run, with answers that are lost, is there, or is nowhere (seed ${SEED})`,
    async () => {
      const topic = await topicOf('races');
      const random = createSeededRandom(`${SEED} ${kind}`);
      const faulty = () =>
        createFaultyTable(table, {
          clock: system,
          choose: randomly<TableCall, TableFault>(random, [
            { probability: 0.1, match: isWrite, fault: () => ({ kind: 'answer-lost' }) },
            { probability: 0.05, match: isWrite, fault: () => ({ kind: 'failed' }) },
            { probability: 0.05, match: isWrite, fault: () => ({ kind: 'doubled', ms: 20 }) },
            { probability: 0.2, fault: (own) => ({ kind: 'delayed', ms: Math.ceil(own.fraction() * 20) }) },
          ]),
        });
      const uploads: Upload[] = [];
      for (let n = 0; n < 16; n += 1) uploads.push(await uploaded(topic));
      // To a sweeper whose clock is ahead, all of them are due, and whoever submits one may have been stopped.
      const submits = uploads.map(async (upload, index) => {
        await system.sleep(index * 10, signal());
        const results = await submit(topic, upload, broker({ table: faulty() })).catch((error: unknown) => [error]);
        return { upload, result: results[0] };
      });
      const sweeps = [0, 1].map(async () => {
        for (let n = 0; n < 4; n += 1) await sweepAt(UPLOAD_MS + 3_600_000, { table: faulty() });
      });
      const told = await Promise.all(submits);
      await Promise.all(sweeps);
      for (let n = 0; n < 2; n += 1) uploadsOf(await sweepAt(UPLOAD_MS + 3_600_000));

      let stored = 0;
      for (const { upload, result } of told) {
        const isThere = (await store.head(uploadObjectKey(topic.id, upload.upload), signal())) !== undefined;
        const item = await table.get({ pk: `u#${topic.id}`, sk: upload.upload }, signal());
        expect(isThere).toBe(item !== undefined);
        if (isThere) {
          stored += 1;
          expect(item).toMatchObject({ state: 'submitted' });
        }
        if (result instanceof KelpError) {
          if (result.kind !== 'indefinite') expect([result.code, isThere]).toEqual([result.code, false]);
        } else expect(item).toMatchObject({ offset: (result as Placed).offset });
      }
      expect(await tailOf(topic)).toBe(stored);
      expect([stored > 0, stored < told.length]).toEqual([true, true]);
    },
    TEST_MS,
  );
});

const isWrite = ({ op }: TableCall): boolean => op !== 'get' && op !== 'query';
