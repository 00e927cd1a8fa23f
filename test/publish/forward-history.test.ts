import { expect, test } from 'vitest';
import type { BrokerId } from '../../src/model/ids.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { type PeerTreatment } from '../simulation/peer-network.ts';
import { readTopicLog } from '../simulation/read-log.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { createPair, addressOf, joinBroker } from './forwarding.ts';
import { firstSegment, produced, publishOf } from './requests.ts';

// Whatever happens on the way, by seeds: what is acked is stored once, where the answer says; what failed surely is not stored;
// a producer's messages are stored once and in order.

const SEEDS = 25;
const PUBLISHES = 50;
const PRODUCERS = ['p', 'q', 'r'];
const TREATMENTS: readonly PeerTreatment[] = ['answer', 'answer', 'refuse', 'lose', 'cut', 'late', 1, 30, 400];
const BROKERS = ['other', 'third'] as const;

type Sent = { readonly value: string; readonly result: PublishResult[number] | undefined };

async function run(world: TestWorld) {
  const topic = await world.topic();
  const segment = firstSegment(topic);
  const { here, network, routes } = createPair(world);
  joinBroker(world, network, 'third');
  const random = world.random.fork('plan');
  const pick = <T>(from: readonly T[]): T => from[random.integer(from.length)] as T;
  const sent: Sent[] = [];
  const lines = new Map(PRODUCERS.map((producer) => [producer, Promise.resolve()]));

  /** A client that asks again until it is answered for certain, and only then sends the next one. */
  async function produce(producer: string, sequence: number): Promise<void> {
    const value = `${producer}${sequence}`;
    for (;;) {
      const [result] = await here.publisher.publish(topic, produced([value], { segment, producer, sequence }), world.signal);
      if (result instanceof KelpError && result.kind === 'indefinite') continue;
      sent.push({ value, result });
      return;
    }
  }

  const work: Promise<unknown>[] = [];
  const sequences = new Map(PRODUCERS.map((producer) => [producer, 0]));
  for (let n = 0; n < PUBLISHES; n += 1) {
    for (const broker of BROKERS) network.treat(broker as BrokerId, pick(TREATMENTS));
    routes.to.set('all', pick([[], [addressOf('other')], [addressOf('third'), addressOf('other')]]));
    if (random.integer(2) === 0) {
      const value = `plain${n}`;
      work.push(here.publisher.publish(topic, publishOf([value]), world.signal).then(([result]) => sent.push({ value, result })));
    } else {
      const producer = pick(PRODUCERS);
      const sequence = sequences.get(producer) ?? 0;
      sequences.set(producer, sequence + 1);
      const line = (lines.get(producer) ?? Promise.resolve()).then(() => produce(producer, sequence));
      lines.set(producer, line);
      work.push(line);
    }
    await world.clock.advance(random.integer(40));
  }
  await world.run(Promise.all(work));
  await world.clock.advance(10_000);
  return { sent, sequences, log: (await readTopicLog(world, topic.id)).flatMap(({ messages }) => messages) };
}

type Seen = Record<'stored' | 'duplicate' | 'indefinite, stored' | 'indefinite, not stored', number>;

function note(seen: Seen, { result, isStored }: { readonly result: Sent['result']; readonly isStored: boolean }): void {
  if (result instanceof KelpError) seen[isStored ? 'indefinite, stored' : 'indefinite, not stored'] += 1;
  else seen[result?.duplicate === true ? 'duplicate' : 'stored'] += 1;
}

test('random losses on the way, and segments that change hands', async () => {
  const seen: Seen = { stored: 0, duplicate: 0, 'indefinite, stored': 0, 'indefinite, not stored': 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const { sent, sequences, log } = await run(createTestWorld(`forward ${seed}`));
    const values = log.map(({ value }) => value);
    expect(new Set(values).size, `seed ${seed}: nothing twice`).toBe(values.length);
    for (const { value, result } of sent) {
      const at = values.indexOf(value);
      const error = result instanceof KelpError ? result : undefined;
      if (error === undefined) expect(result, `seed ${seed}: ${value}`).toMatchObject({ offset: at });
      else expect(error.kind, `seed ${seed}: ${value}`).toBe('indefinite');
      note(seen, { result, isStored: at !== -1 });
    }
    for (const [producer, count] of sequences) {
      const own = values.filter((value) => value.startsWith(producer) && !value.startsWith('plain'));
      expect(own, `seed ${seed}`).toEqual(Array.from({ length: count }, (_, n) => `${producer}${n}`));
    }
  }
  // All of it was met.
  expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(10);
});
