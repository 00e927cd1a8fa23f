import { expect, test } from 'vitest';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import type { UploadId } from '../../src/model/ids.ts';
import { UPLOADS_PARALLEL_MAX } from '../../src/model/upload-limits.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { contentOf, createUploadWorld, forEver } from './upload-world.ts';

const HELLO = Buffer.from('hello');

test('what is referred to is what was announced and is there', async () => {
  const world = createUploadWorld();
  const a = await world.upload(HELLO);
  const b = await world.upload(new Uint8Array(0), 'a/b; c=d');
  const found = await world.uploads.resolve(world.topic, [b.upload, a.upload], forEver);
  expect([...found]).toEqual([
    [b.upload, { upload: b.upload, ...contentOf(new Uint8Array(0), 'a/b; c=d') }],
    [a.upload, { upload: a.upload, ...contentOf(HELLO) }],
  ]);
  expect(await world.uploads.resolve(world.topic, [], forEver)).toEqual(new Map());
});

test('an upload that is not there is missing, and may come yet', async () => {
  const world = createUploadWorld();
  await world.putTopic(world.topic);
  const { upload, request } = await world.uploads.create(world.topic, contentOf(HELLO), forEver);
  await expect(world.uploads.resolve(world.topic, [upload.upload], forEver)).rejects.toMatchObject({
    kind: 'conflict',
    code: 'upload-missing',
    extra: { upload: upload.upload },
  });
  await world.presigner.send({ ...request, body: HELLO }, forEver);
  expect((await world.uploads.resolve(world.topic, [upload.upload], forEver)).size).toBe(1);
});

test.each<[string, Uint8Array | undefined]>([
  ['other bytes', Buffer.from('hallo')],
  ['more of them', Buffer.from('hello!')],
  ['fewer of them', Buffer.from('hell')],
  ['none', new Uint8Array(0)],
  ['the right ones, of which the store knows no hash', undefined],
])('A10 %s differ', async (_what, body) => {
  const world = createUploadWorld();
  await world.putTopic(world.topic);
  const { upload } = await world.uploads.create(world.topic, contentOf(HELLO), forEver);
  const key = uploadObjectKey(world.topic.id, upload.upload);
  if (body === undefined) await world.store.put(key, [HELLO], forEver);
  else world.store.create(key, body, contentOf(body).sha256);
  await expect(world.uploads.resolve(world.topic, [upload.upload], forEver)).rejects.toMatchObject({
    kind: 'conflict',
    code: 'upload-differs',
  });
});

test('A10 a hash that is right, of another length, is believed by nobody', async () => {
  const world = createUploadWorld({
    store: (store) => ({ ...store, head: () => Promise.resolve({ bytes: HELLO.length + 1, sha256: contentOf(HELLO).sha256 }) }),
  });
  const { upload } = await world.upload(HELLO);
  await expect(world.uploads.resolve(world.topic, [upload], forEver)).rejects.toMatchObject({ code: 'upload-differs' });
});

test('an upload that expired is gone, whether a sweep has said so yet or not', async () => {
  const world = createUploadWorld();
  const expired = { kind: 'not-found', code: 'upload-expired' };
  const { upload: id, expiresMs } = await world.upload(HELLO);
  await world.clock.advance(expiresMs - 1 - world.clock.nowMs());
  expect((await world.uploads.resolve(world.topic, [id], forEver)).size).toBe(1);
  await world.clock.advance(1);
  await expect(world.uploads.resolve(world.topic, [id], forEver)).rejects.toMatchObject(expired);
  await world.change(id, { state: 'expired' });
  await expect(world.uploads.resolve(world.topic, [id], forEver)).rejects.toMatchObject(expired);
  // Somebody is at it, and may have been in time.
  await world.change(id, { state: 'submitting' });
  expect((await world.uploads.resolve(world.topic, [id], forEver)).size).toBe(1);
});

test('of an upload that was submitted the store is asked nothing', async () => {
  const asked: string[] = [];
  const world = createUploadWorld({
    store: (store) =>
      interceptStore(store, (call, make) => {
        asked.push(call.op);
        return make();
      }),
  });
  const { upload: id } = await world.upload(HELLO);
  await world.change(id, { state: 'submitted', offset: 0 });
  await world.store.delete(uploadObjectKey(world.topic.id, id), forEver);
  expect((await world.uploads.resolve(world.topic, [id], forEver)).get(id)).toMatchObject({ bytes: 5 });
  expect(asked).toEqual([]);
});

test('many are looked up side by side, within a bound, and the first that is wrong ends it', async () => {
  let [underWay, most, asked] = [0, 0, 0];
  const world = createUploadWorld({
    store: (store) =>
      interceptStore(store, async (_call, make) => {
        underWay += 1;
        asked += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return make();
      }),
  });
  const ids: UploadId[] = [];
  for (let n = 0; n < 40; n += 1) ids.push((await world.upload(Buffer.from(`body ${n}`))).upload);
  expect((await world.uploads.resolve(world.topic, ids, forEver)).size).toBe(40);
  expect([most, asked]).toEqual([UPLOADS_PARALLEL_MAX, 40]);
  await world.store.delete(uploadObjectKey(world.topic.id, ids[0] as UploadId), forEver);
  await expect(world.uploads.resolve(world.topic, ids, forEver)).rejects.toMatchObject({
    code: 'upload-missing',
    extra: { upload: ids[0] },
  });
  expect(asked).toBeLessThan(80);
});
