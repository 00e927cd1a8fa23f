import { expect, test } from 'vitest';
import { uploadKey, uploadsPartition } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import { isUploadId, uploadId } from '../../src/model/ids.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { contentOf, createUploadWorld, forEver } from './upload-world.ts';

const HELLO = Buffer.from('hello');
const itemsOf = async (world: ReturnType<typeof createUploadWorld>): Promise<number> =>
  (await world.table.query({ pk: uploadsPartition(world.topic.id), limit: 100 }, forEver)).items.length;

test('an upload is staged under an id that tells when it expires, and can be put for as long', async () => {
  const world = createUploadWorld();
  await world.putTopic(world.topic);
  const { upload, request } = await world.uploads.create(world.topic, contentOf(HELLO), forEver);
  const nowMs = world.clock.nowMs();
  expect(upload).toMatchObject({ ...contentOf(HELLO), state: 'staged', version: 1, createdMs: nowMs, expiresMs: nowMs + UPLOAD_MS });
  expect(isUploadId(upload.upload)).toBe(true);
  expect(upload.upload.slice(0, 7)).toBe(uploadId(upload.expiresMs, ''));
  expect(await world.read(upload.upload)).toEqual(upload);
  expect(request).toMatchObject({ method: 'PUT', headers: { 'content-length': '5', 'content-type': 'text/plain', 'if-none-match': '*' } });
  expect(world.telemetry.total('kelp.uploads.created')).toBe(1);

  expect((await world.presigner.send({ ...request, body: HELLO }, forEver)).status).toBe(200);
  expect(await world.store.head(uploadObjectKey(world.topic.id, upload.upload), forEver)).toEqual({ bytes: 5, sha256: upload.sha256 });
  const late = await world.uploads.create(world.topic, contentOf(HELLO), forEver);
  await world.clock.advance(UPLOAD_MS);
  expect((await world.presigner.send({ ...late.request, body: HELLO }, forEver)).status).toBe(403);
});

test.each(['lost', 'lost twice', 'throttled'])('a put whose answer is %s makes one upload', async (what) => {
  let faults = what === 'lost twice' ? 2 : 1;
  const world = createUploadWorld({
    table: (table) =>
      interceptTable(table, async (call, make) => {
        if (call.op !== 'put' || faults === 0) return make();
        faults -= 1;
        if (what === 'throttled') throw new KelpError('throttled', 'table-throttled', 'slow down');
        await make();
        throw new KelpError('indefinite', 'table-indefinite', 'no answer');
      }),
  });
  await world.putTopic(world.topic);
  const creating = world.uploads.create(world.topic, contentOf(HELLO), forEver);
  for (let turn = 0; turn < 4; turn += 1) await world.clock.advance(10_000);
  const { upload } = await creating;
  expect(faults).toBe(0);
  expect(await world.read(upload.upload)).toEqual(upload);
  expect(await itemsOf(world)).toBe(1);
});

test('an id that somebody else has drawn is left to them', async () => {
  const world = createUploadWorld({
    table: (table) => {
      let taken = false;
      return interceptTable(table, async (call, make) => {
        if (call.op === 'put' && !taken) {
          taken = true;
          const theirs = { ...call.item, sha256: 'ab'.repeat(32) };
          await table.put(call.key, theirs, [], forEver);
        }
        return make();
      });
    },
  });
  await world.putTopic(world.topic);
  const { upload } = await world.uploads.create(world.topic, contentOf(HELLO), forEver);
  expect(await world.read(upload.upload)).toEqual(upload);
  expect(await itemsOf(world)).toBe(2);
});

test.each(['deleting', 'deleted', 'gone'] as const)('of a topic that is %s there is none, and nothing is left', async (state) => {
  const world = createUploadWorld();
  if (state !== 'gone') await world.putTopic({ ...world.topic, state });
  await expect(world.uploads.create(world.topic, contentOf(HELLO), forEver)).rejects.toMatchObject({ code: 'topic-not-found' });
  expect(await itemsOf(world)).toBe(0);
  expect(world.telemetry.total('kelp.uploads.created')).toBe(0);
});

test('a topic that is deleted while an upload is made has no upload that its clean-up could not see', async () => {
  const seen: string[] = [];
  const world = createUploadWorld({
    table: (table) =>
      interceptTable(table, (call, make) => {
        if (call.op !== 'query') seen.push(`${call.op} ${call.key.pk.slice(0, 1)}`);
        return make();
      }),
  });
  await world.putTopic(world.topic);
  await world.uploads.create(world.topic, contentOf(HELLO), forEver);
  // The item first: whoever deletes the topic after the second step finds it.
  expect(seen).toEqual(['put u', 'get t']);
});

test('what is described is what stands there; an upload whose time is over is expired', async () => {
  const world = createUploadWorld();
  const { upload: id, expiresMs } = await world.upload(HELLO);
  expect(await world.uploads.describe(world.topic, id, forEver)).toEqual(await world.read(id));
  await world.clock.advance(expiresMs - 1 - world.clock.nowMs());
  expect(await world.uploads.describe(world.topic, id, forEver)).toMatchObject({ state: 'staged' });
  await world.clock.advance(1);
  expect(await world.uploads.describe(world.topic, id, forEver)).toMatchObject({ state: 'expired' });
  await world.change(id, { state: 'submitted', offset: 7 });
  expect(await world.uploads.describe(world.topic, id, forEver)).toMatchObject({ state: 'submitted', offset: 7 });
});

test("A7 another topic's upload is not found", async () => {
  const world = createUploadWorld();
  const { upload: id } = await world.upload(HELLO);
  const missing = { kind: 'not-found', code: 'upload-not-found', extra: { upload: id } };
  await expect(world.uploads.describe(world.other, id, forEver)).rejects.toMatchObject(missing);
  await expect(world.uploads.resolve(world.other, [id], forEver)).rejects.toMatchObject(missing);
  await expect(world.uploads.checkBatches(world.other, { upload: id, batches: [] }, forEver)).rejects.toMatchObject(missing);
  expect(await world.table.get(uploadKey(world.other.id, id), forEver)).toBeUndefined();
});
