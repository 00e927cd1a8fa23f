import { expect, test } from 'vitest';
import { HEAD_ENTRIES_SPILL, HEAD_ENTRIES_SPILL_AGAIN } from '../../src/model/limits.ts';
import { interceptTable, type TableCall } from '../simulation/intercept.ts';
import { readSegmentLog } from '../simulation/read-log.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { throttled } from '../simulation/world-faults.ts';
import { firstSegment, publishOf } from './requests.ts';

const isSpill = (call: TableCall): boolean => call.op === 'update' && call.update.changes.some(({ path }) => path[0] === 'h');

/** Brokers that publish in turn, `messages` of them; and what they have written of pages and spills. */
async function publishing(brokers: number, messages: number, { slow = false, refusals = 0 }) {
  const world = createTestWorld();
  const topic = await world.topic();
  const written = { pages: 0, spills: 0, refused: 0 };
  const table = interceptTable(world.table, async (call, make, signal) => {
    if (call.name === 'put page') {
      written.pages += 1;
      if (slow) await world.clock.sleep(1_000, signal);
    }
    if (!isSpill(call)) return make();
    if (written.refused < refusals) {
      written.refused += 1;
      throw throttled();
    }
    written.spills += 1;
    return make();
  });
  const all = Array.from({ length: brokers }, () => world.broker({ table }));
  for (let n = 0; n < messages; n += 1) {
    await world.run(all[n % brokers]!.publisher.publish(topic, publishOf([String(n)]), world.signal));
  }
  for (const broker of all) await world.run(broker.notes.idle());
  const { head, messages: stored } = await readSegmentLog(world, topic.id, firstSegment(topic));
  expect(stored.map(({ value }) => value)).toEqual(Array.from({ length: messages }, (_, n) => String(n)));
  return { ...written, left: head.entries.length };
}

test('of many brokers that commit to a head, the one that makes it 16 entries long moves them, however long that takes', async () => {
  const between = HEAD_ENTRIES_SPILL_AGAIN - 1;
  const messages = HEAD_ENTRIES_SPILL + between;
  // All others have published before its page is there.
  expect(await publishing(HEAD_ENTRIES_SPILL, messages, { slow: true })).toEqual({ pages: 1, spills: 1, refused: 0, left: between });
});

test('one eight commits later does it, too: the first may have been stopped', async () => {
  const messages = HEAD_ENTRIES_SPILL + HEAD_ENTRIES_SPILL_AGAIN;
  expect(await publishing(HEAD_ENTRIES_SPILL, messages, { slow: true })).toMatchObject({ pages: 2, spills: 2 });
});

test('F29: what the table throttles of it is asked for again until it is done: nobody else does it', async () => {
  const refusals = 20;
  expect(await publishing(1, HEAD_ENTRIES_SPILL, { refusals })).toEqual({ pages: 1, spills: 1, refused: refusals, left: 0 });
});
