import { expect, test } from 'vitest';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import { INLINE_PARALLEL_MAX } from '../../src/model/upload-limits.ts';
import { createReferences } from '../../src/reference/create-references.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { contentOf, createUploadWorld, forEver } from './upload-world.ts';

const HELLO = Buffer.from('hello');

test.each([HELLO, new Uint8Array(0), Buffer.alloc(1_048_576, 'x')])('the bytes of a reference come back as they were', async (body) => {
  const world = createUploadWorld();
  const { upload } = await world.upload(body);
  const [content] = await createReferences(world).contents(world.topic.id, [{ upload, ...contentOf(body) }], forEver);
  expect(Buffer.from(content as Uint8Array).equals(body)).toBe(true);
});

test('anybody gets them by the URL, as an attachment of no type', async () => {
  const world = createUploadWorld();
  const { upload } = await world.upload(HELLO, 'text/html');
  const url = createReferences(world).url(world.topic.id, upload);
  const answer = await world.presigner.send({ method: 'GET', url, headers: {} }, forEver);
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' },
  });
  expect(Buffer.from(answer.body).toString()).toBe('hello');
  await world.clock.advance(900_000);
  expect((await world.presigner.send({ method: 'GET', url, headers: {} }, forEver)).status).toBe(403);
});

test.each<[string, Uint8Array, Uint8Array | undefined]>([
  ['missing', HELLO, undefined],
  ['missing and empty', new Uint8Array(0), undefined],
  ['others', HELLO, Buffer.from('hallo')],
  ['fewer', HELLO, Buffer.from('hell')],
  ['none', HELLO, new Uint8Array(0)],
])('bytes that are %s are damage, which names the object', async (_what, body, there) => {
  const world = createUploadWorld();
  const { upload } = await world.upload(body);
  const object = uploadObjectKey(world.topic.id, upload);
  await world.store.delete(object, forEver);
  if (there !== undefined) await world.store.put(object, [there], forEver);
  const good = { upload: (await world.upload(HELLO)).upload, ...contentOf(HELLO) };
  const contents = await createReferences(world).contents(world.topic.id, [good, { upload, ...contentOf(body) }, good], forEver);
  expect(contents).toMatchObject([{ length: 5 }, { kind: 'corrupt', code: 'corrupt', extra: { object } }, { length: 5 }]);
});

test('many are read side by side, within a bound', async () => {
  let [underWay, most] = [0, 0];
  const world = createUploadWorld();
  const store = interceptStore(world.store, async (_call, make) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return make();
  });
  const { upload } = await world.upload(HELLO);
  const wanted = Array.from({ length: 20 }, () => ({ upload, ...contentOf(HELLO) }));
  expect(await createReferences({ ...world, store }).contents(world.topic.id, wanted, forEver)).toHaveLength(20);
  expect(most).toBe(INLINE_PARALLEL_MAX);
});

test('a store that does not answer is no damage', async () => {
  const world = createUploadWorld();
  const { upload } = await world.upload(HELLO);
  const down = new KelpError('unavailable', 'store-unavailable', 'down');
  const references = createReferences({ ...world, store: { ...world.store, getRange: () => Promise.reject(down) } });
  await expect(references.contents(world.topic.id, [{ upload, ...contentOf(HELLO) }], forEver)).rejects.toBe(down);
});
