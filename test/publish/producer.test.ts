import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { HEAD_LINES_MAX } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { readSegmentLog, readValues } from '../simulation/read-log.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { faultyTable } from '../simulation/world-faults.ts';
import { brief, firstSegment, oneSegment, produced } from './requests.ts';

type Bench = { readonly world: TestWorld; readonly topic: Topic; readonly broker: TestBroker; readonly segment: SegmentId };

async function bench(): Promise<Bench> {
  const world = createTestWorld();
  const topic = await world.topic();
  return { world, topic, broker: world.broker(), segment: firstSegment(topic) };
}

type Batch = { readonly sequence: number; readonly count?: number; readonly epoch?: number; readonly producer?: string };

/** A request of `count` messages called by their epoch and sequence; not yet waited for. */
function send({ world, topic, broker, segment }: Bench, batch: Batch, by: TestBroker = broker): Promise<PublishResult> {
  const { sequence, count = 1, epoch = 0, producer = 'p' } = batch;
  const values = Array.from({ length: count }, (_, n) => `${producer} ${epoch}/${sequence + n}`);
  return by.publisher.publish(topic, produced(values, { segment, producer, epoch, sequence }), world.signal);
}

const sent = async (on: Bench, batch: Batch, by?: TestBroker): Promise<string[]> => brief(await on.world.run(send(on, batch, by)));

test('J-24: every answer leaves the producer able to go on', async () => {
  const on = await bench();
  const extras = async (batch: Batch): Promise<unknown> => {
    const [error] = await on.world.run(send(on, batch));
    return error instanceof KelpError ? { code: error.code, ...error.extra } : error;
  };
  expect(await sent(on, { sequence: 0, count: 3 })).toEqual(['s0000000:0', 's0000000:1', 's0000000:2']);
  expect(await sent(on, { sequence: 0, count: 3 })).toEqual(['s0000000:0 again', 's0000000:1 again', 's0000000:2 again']);
  expect(await sent(on, { sequence: 3 })).toEqual(['s0000000:3']);
  expect(await extras({ sequence: 5 })).toEqual({ code: 'sequence-gap', expected: 4 });
  expect(await extras({ sequence: 2, count: 3 })).toEqual({ code: 'sequence-overlap', expected: 4 });
  expect(await sent(on, { sequence: 4 })).toEqual(['s0000000:4']);
  expect(await sent(on, { sequence: 6 })).toEqual(['sequence-gap']);
  expect(await sent(on, { sequence: 5 })).toEqual(['s0000000:5']);
  expect(await sent(on, { sequence: 6 })).toEqual(['s0000000:6']);
  expect(await sent(on, { sequence: 0, epoch: 1 })).toEqual(['s0000000:7']);
  expect(await extras({ sequence: 7, epoch: 0 })).toEqual({ code: 'producer-fenced', epoch: 1 });
  expect(await sent(on, { sequence: 4, epoch: 2 })).toEqual(['sequence-gap']);
  expect(await sent(on, { sequence: 0, epoch: 2 })).toEqual(['s0000000:8']);
  expect(await readValues(on.world, on.topic.id)).toEqual([
    'p 0/0',
    'p 0/1',
    'p 0/2',
    'p 0/3',
    'p 0/4',
    'p 0/5',
    'p 0/6',
    'p 1/0',
    'p 2/0',
  ]);
});

describe('in one group', () => {
  /** Something is in flight, so that what is sent next gathers. */
  const together = async (on: Bench, batches: readonly Batch[]): Promise<string[]> => {
    const first = send(on, { producer: 'first', sequence: 0 });
    const results = await on.world.run(Promise.all([first, ...batches.map((batch) => send(on, batch))]));
    expect((await readSegmentLog(on.world, on.topic.id, on.segment)).entries.length).toBeLessThanOrEqual(2);
    return results.slice(1).flatMap(brief);
  };

  test('batches of one producer follow each other', async () => {
    const on = await bench();
    expect(await together(on, [{ sequence: 0, count: 2 }, { sequence: 2 }, { sequence: 3 }])).toEqual(
      [1, 2, 3, 4].map((offset) => `s0000000:${offset}`),
    );
  });

  test('a repeat has the offsets of the batch that it repeats', async () => {
    const on = await bench();
    expect(
      await together(on, [
        { sequence: 0, count: 2 },
        { sequence: 0, count: 2 },
      ]),
    ).toEqual(['s0000000:1', 's0000000:2', 's0000000:1 again', 's0000000:2 again']);
  });

  test('a member that fails leaves the others in', async () => {
    const on = await bench();
    const batches = [
      { producer: 'q', sequence: 7 },
      { sequence: 0 },
      { producer: 'r', sequence: 0, count: 2 },
      { producer: 'r', sequence: 1, count: 2 },
    ];
    expect(await together(on, batches)).toEqual([
      'sequence-gap',
      's0000000:1',
      's0000000:2',
      's0000000:3',
      'sequence-overlap',
      'sequence-overlap',
    ]);
  });
});

describe('lines beyond those that a head holds', () => {
  const PRODUCERS = HEAD_LINES_MAX + 4;
  const names = Array.from({ length: PRODUCERS }, (_, n) => `p${n}`);

  test('move out and in again, and count on', async () => {
    const on = await bench();
    for (let round = 0; round < 3; round += 1) {
      for (const [n, producer] of names.entries()) {
        expect(await sent(on, { producer, sequence: round })).toEqual([`s0000000:${round * PRODUCERS + n}`]);
      }
    }
    for (const producer of names) expect(await sent(on, { producer, sequence: 2 })).toEqual([expect.stringMatching(/again$/)]);
    const { head } = await readSegmentLog(on.world, on.topic.id, on.segment);
    expect(head.lines.size).toBe(HEAD_LINES_MAX);
  });

  test('are the same to a broker that knows nothing', async () => {
    const on = await bench();
    for (const producer of names) await sent(on, { producer, sequence: 0, count: 2 });
    for (const [n, producer] of names.entries()) {
      const fresh = on.world.broker();
      expect(await sent(on, { producer, sequence: 0, count: 2 }, fresh)).toEqual([
        `s0000000:${2 * n} again`,
        `s0000000:${2 * n + 1} again`,
      ]);
      expect(await sent(on, { producer, sequence: 3 }, fresh)).toEqual(['sequence-gap']);
    }
  });

  test('survive late and lost writes of what moved out', async () => {
    const on = await bench();
    const table = faultyTable(on.world.table, { 'put line': ['late', 'lost', 'dropped', 'late'] });
    const broker = on.world.broker({ table });
    for (let round = 0; round < 2; round += 1) for (const producer of names) await sent(on, { producer, sequence: round }, broker);
    await table.deliver();
    for (const producer of names) {
      expect(await sent(on, { producer, sequence: 1 })).toEqual([expect.stringMatching(/again$/)]);
      expect(await sent(on, { producer, sequence: 3 })).toEqual(['sequence-gap']);
    }
  });
});

test('a repeat of long ago is a duplicate whose offsets are forgotten', async () => {
  const on = await bench();
  for (let sequence = 0; sequence < 8; sequence += 1) await sent(on, { sequence });
  expect(await sent(on, { sequence: 0 })).toEqual(['s0000000:null again']);
  expect(await sent(on, { sequence: 7 })).toEqual(['s0000000:7 again']);
});

test('a repeat finds its offsets in the pages, too', async () => {
  const on = await bench();
  await sent(on, { sequence: 0, count: 2 });
  for (let n = 0; n < 40; n += 1) await sent(on, { producer: 'other', sequence: n });
  await on.world.run(on.broker.notes.idle());
  const { head } = await readSegmentLog(on.world, on.topic.id, on.segment);
  expect(head.spilled).toBeGreaterThan(2);
  expect(await sent(on, { sequence: 0, count: 2 })).toEqual(['s0000000:0 again', 's0000000:1 again']);
});

test('F3: a producer that lost the answer gets it from another broker', async () => {
  const on = await bench();
  const killed = on.world.broker();
  await sent(on, { sequence: 0, count: 3 }, killed);
  expect(await sent(on, { sequence: 0, count: 3 })).toEqual(['s0000000:0 again', 's0000000:1 again', 's0000000:2 again']);
  expect(await readValues(on.world, on.topic.id)).toHaveLength(3);
});

test('J-23: a producer begins anew with a topic that was made again', async () => {
  const on = await bench();
  for (let sequence = 0; sequence < 10; sequence += 1) await sent(on, { sequence });
  await on.world.run(on.broker.topics.delete('t', on.world.signal));
  const { topic } = await on.world.run(on.broker.topics.create('t', oneSegment, on.world.signal));
  const again = { ...on, topic, segment: firstSegment(topic) };
  expect(await sent(again, { sequence: 0 })).toEqual(['s0000001:0']);
  await expect(sent({ ...again, segment: on.segment }, { sequence: 10 })).rejects.toMatchObject({ code: 'topic-replaced' });
  await expect(sent(on, { sequence: 10 })).rejects.toMatchObject({ code: 'topic-not-found' });
});
