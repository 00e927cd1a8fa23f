import { expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { minuteOf } from '../../src/model/ids.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { readTopicLog, readValues } from '../simulation/read-log.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { unanswered } from '../simulation/world-faults.ts';
import { brief, message, publishOf } from './requests.ts';
import { both, expectOnce, prepare, sent, stage, submitOf, uploadOf } from './uploads.ts';

// The one attempt that an upload names: its minute, its end, and what it tells.

const MINUTE_MS = 60_000;

test('a repeat of what has landed, and is not recorded, is told by its uploads: nothing is put, and nothing is sent', async () => {
  const world = createTestWorld();
  const { topic, uploads } = await prepare(world);
  const [a, b] = uploads;
  const late = await stage(world, topic);
  // The first handler ends between what it says in its uploads, all but one of them, and its record.
  let puts = 0;
  const table = interceptTable(world.table, (call, make) => {
    if (call.name === 'put upload') puts += 1;
    return call.name === 'put upload' && puts > 5 ? new Promise(() => undefined) : make();
  });
  const request = submitOf([a, b, late], 'k');
  void world.broker({ table }).publisher.publish(topic, request, world.signal);
  await world.clock.advance(1_000);
  const store = interceptStore(world.store, (call) => Promise.reject(new Error(`${call.op} ${call.key}`)));
  const sends = interceptTable(world.table, (call, make) => (call.name === 'update head' ? Promise.reject(new Error('it sends')) : make()));
  const again = await sent(world, topic, request, world.broker({ store, table: sends }));
  expect(again.map((one) => one.slice(9))).toEqual(['0 again', '1 again', '2 again']);
  await expectOnce(world, topic, [a, b, late]);
});

test('F23: a floor above its minute ends an attempt, and the next one has another minute and another id', async () => {
  const world = createTestWorld();
  const { topic, uploads } = await prepare(world);
  const [upload] = uploads;
  let before: string | undefined;
  const table = interceptTable(world.table, async (call, make) => {
    if (call.name === 'update head' && before === undefined) {
      const { attempt } = await uploadOf(world, topic, upload);
      if (attempt === undefined) throw new Error('it is sent before it is claimed');
      before = `${attempt.minute} ${attempt.cid}`;
      const floor = String(Number(attempt.minute) + 1).padStart(8, '0');
      if (call.op === 'update')
        await world.table.update(call.key, { condition: [], changes: [{ op: 'set', path: ['f'], value: floor }] }, world.signal);
    }
    return make();
  });
  await sent(world, topic, publishOf([['k1', '1']]), world.broker());
  expect(await sent(world, topic, submitOf([['k1', upload]]), world.broker({ table }))).toEqual(['s0000001:1']);
  const { attempt } = await uploadOf(world, topic, upload);
  expect(attempt?.minute).toBe(String(Number(before?.slice(0, 8)) + 1).padStart(8, '0'));
  expect(attempt?.cid).not.toBe(before?.slice(9));
});

test('U1: an attempt that takes longer than its minute stores under that minute, so that a floor above it ends what is on its way', async () => {
  const world = createTestWorld();
  const { topic, uploads } = await prepare(world);
  const [upload] = uploads;
  // The minute ends while the claim is on its way.
  await world.clock.advance(MINUTE_MS - (world.clock.nowMs() % MINUTE_MS) - 1_000);
  const table = interceptTable(world.table, async (call, make) => {
    if (call.name === 'put upload') await world.clock.sleep(5_000, world.signal);
    return make();
  });
  const broker = world.broker({ table });
  expect(await sent(world, topic, submitOf([upload]), broker)).toEqual([expect.stringMatching(/^s\w{7}:0$/)]);
  const { attempt } = await uploadOf(world, topic, upload);
  expect(attempt?.minute).not.toBe(minuteOf(world.clock.nowMs()));
  const logs = await readTopicLog(world, topic.id);
  expect(logs.flatMap(({ entries }) => entries.map(({ object }) => object.minute))).toEqual([attempt?.minute]);
});

test('a caller whose time is over before anything was sent knows that nothing is stored', async () => {
  const world = createTestWorld();
  const { topic, uploads } = await prepare(world);
  const table = interceptTable(world.table, (call, make, signal) => {
    if (call.name !== 'put upload') return make();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(unanswered())));
  });
  const stuck = world.broker({ table }).publisher.publish(topic, both(uploads), world.clock.deadline(500));
  expect(brief(await world.run(stuck))).toEqual(['unavailable', 'unavailable']);
  expect(await sent(world, topic, both(uploads))).toEqual(['s0000001:0', 's0000000:0']);
});

test('what was sent and not answered stays unknown, also where its time is over once another part is to be sent again', async () => {
  const world = createTestWorld();
  const { topic, uploads } = await prepare(world);
  const [upload] = uploads;
  const caller = new AbortController();
  const table = interceptTable(world.table, async (call, make, signal) => {
    if (call.name !== 'update head' || call.op !== 'update') return make();
    if (call.key.pk.includes('s0000001')) {
      await make();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(unanswered())));
    }
    const { attempt } = await uploadOf(world, topic, upload);
    const floor = String(Number(attempt?.minute) + 1).padStart(8, '0');
    await world.table.update(call.key, { condition: [], changes: [{ op: 'set', path: ['f'], value: floor }] }, world.signal);
    return make();
  });
  const messages = [message('k1', 'text'), { ...message('k0', upload), upload }];
  const published = world.broker({ table }).publisher.publish(topic, { content: { kind: 'messages', messages } }, caller.signal);
  await world.clock.advance(1_000);
  caller.abort(new KelpError('unavailable', 'timeout', 'the request was not done within its time'));
  expect(brief(await world.run(published))).toEqual(['indefinite', 'timeout']);
  expect(await readValues(world, topic.id)).toEqual(['text']);
});
