import { describe, expect, test } from 'vitest';
import type { BrokerId } from '../../src/model/ids.ts';
import { segmentId } from '../../src/model/ids.ts';
import { readTopicLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { addressOf, countedStore, createPair, errorOf, joinBroker, OTHER, SPREAD } from './forwarding.ts';
import { brief, firstSegment, keyed, produced, publishOf } from './requests.ts';

describe('what others serve', () => {
  test('is stored by them, and answered as if it were here', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const [mine, theirs] = [countedStore(world), countedStore(world)];
    const { here, network } = createPair(world, { here: mine, other: theirs });
    const results = await world.run(here.publisher.publish(topic, publishOf(['1', '2']), world.signal));
    expect(brief(results)).toEqual(['s0000000:0', 's0000000:1']);
    expect([mine.counts.puts, theirs.counts.puts]).toEqual([0, 1]);
    expect(network.received.map(({ operation }) => operation)).toEqual(['publish']);
    expect(await readValues(world, topic.id)).toEqual(['1', '2']);
    expect(here.notes.counts.get('kelp.forwards')).toBe(1);
  });

  test('goes in one request to each of them; what this one serves stays', async () => {
    const world = createTestWorld();
    const topic = await world.topic(6);
    const { here, network, routes } = createPair(world);
    joinBroker(world, network, 'third');
    const [first, second, third] = topic.open.map(({ segment }) => segment);
    if (first === undefined || second === undefined || third === undefined) throw new Error('six segments');
    routes.to
      .set(first, [])
      .set(second, [addressOf('third'), addressOf('other')])
      .set(third, [addressOf('third')]);
    // The segments’ tails differ: an outcome in another’s place would show.
    const before = SPREAD.map(([key, value]) => [key, `before ${value}`] as const);
    await world.run(world.broker().publisher.publish(topic, publishOf(before), world.signal));
    const results = await world.run(here.publisher.publish(topic, publishOf(SPREAD), world.signal));
    expect(network.received.map(({ broker }) => broker).toSorted()).toEqual(['other', 'third']);
    // Each result stands where its message does.
    const where = new Map((await readTopicLog(world, topic.id)).flatMap((log) => log.messages.map((one) => [one.value, one] as const)));
    expect(brief(results)).toEqual(SPREAD.map(([, value]) => `${where.get(value)?.segment}:${where.get(value)?.offset}`));
    expect(where.size).toBe(2 * SPREAD.length);
  });

  test('stays here if it must be alone: under a key, or with an expected tail', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network } = createPair(world);
    const expected = { ...publishOf(['1']), segment: firstSegment(topic), matchTail: 0 };
    expect(brief(await world.run(here.publisher.publish(topic, expected, world.signal)))).toEqual(['s0000000:0']);
    expect(brief(await world.run(here.publisher.publish(topic, keyed(['2'], 'key'), world.signal)))).toEqual(['s0000000:1']);
    expect(network.received).toEqual([]);
  });

  test('is never forwarded on', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network, routes } = createPair(world);
    // The other one would send it back.
    joinBroker(world, network, 'other', { routes });
    expect(brief(await world.run(here.publisher.publish(topic, publishOf(['1']), world.signal)))).toEqual(['s0000000:0']);
    expect(network.received).toHaveLength(1);
  });

  test('goes with the time that the caller has left', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network } = createPair(world);
    await world.run(here.publisher.publish(topic, { ...publishOf(['1']), timeoutMs: 1_234 }, world.signal));
    expect(network.received.map(({ timeoutMs }) => timeoutMs)).toEqual([1_234]);
  });

  test('of a topic that was made anew under its name is refused there, and told here that it is gone', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here } = createPair(world);
    await world.run(world.broker().topics.delete(topic.name, world.signal));
    await world.topic(1);
    const published = world.run(here.publisher.publish(topic, publishOf(['old']), world.signal));
    await expect(published).rejects.toMatchObject({ code: 'topic-not-found' });
    expect(await readValues(world, topic.id)).toEqual([]);
  });
});

describe('what the others surely have not taken', () => {
  test('goes to the next one, and if none takes it is stored here; who refused gets nothing new for a while', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network, routes } = createPair(world);
    joinBroker(world, network, 'third');
    routes.to.set('all', [addressOf('gone'), addressOf('third')]);
    await world.run(here.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(network.received.map(({ broker }) => broker)).toEqual(['third']);
    network.treat('third' as BrokerId, 'refuse');
    expect(brief(await world.run(here.publisher.publish(topic, publishOf(['2']), world.signal)))).toEqual(['s0000000:1']);
    expect(network.received).toHaveLength(1);
    expect(routes.refusing).toEqual(['gone', 'gone', 'third']);
    expect(routes.suspected).toEqual([]);
  });

  test('because they are full or stop is stored here, and nobody is a suspect', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, other, network, routes } = createPair(world);
    await other.publisher.stop(world.signal);
    expect(brief(await world.run(here.publisher.publish(topic, publishOf(['1']), world.signal)))).toEqual(['s0000000:0']);
    expect(network.received).toHaveLength(1);
    expect(routes.suspected).toEqual([]);
  });
});

describe('what they may have taken', () => {
  test.each(['cut', 'lose', 'late'] as const)('(%s) is tried nowhere else, and nobody knows', async (treatment) => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network, routes } = createPair(world);
    joinBroker(world, network, 'third');
    routes.to.set('all', [addressOf('other'), addressOf('third')]);
    network.treat(OTHER, treatment);
    const results = await world.run(here.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(errorOf(results)).toMatchObject({ kind: 'indefinite', code: 'indefinite' });
    await world.clock.advance(10_000);
    expect(await readValues(world, topic.id)).toEqual(treatment === 'lose' ? [] : ['1']);
    expect(network.received.map(({ broker }) => broker)).toEqual(['other']);
    expect(routes.suspected).toEqual([]);
  });

  test('of a producer is decided by its line: a duplicate where it was stored, stored where it was not', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network } = createPair(world);
    const send = (value: string, sequence: number) =>
      world.run(here.publisher.publish(topic, produced([value], { segment, sequence }), world.signal)).then(brief);
    expect(await send('0', 0)).toEqual(['s0000000:0']);
    network.treat(OTHER, 'cut');
    expect(await send('1', 1)).toEqual(['s0000000:1 again']);
    network.treat(OTHER, 'lose');
    expect(await send('2', 2)).toEqual(['s0000000:2']);
    network.treat(OTHER, 'late');
    expect(await send('3', 3)).toEqual(['s0000000:3']);
    await world.clock.advance(10_000);
    expect(await readValues(world, topic.id)).toEqual(['0', '1', '2', '3']);
  });

  test('of a producer, with a gap before it, stays unknown: what is missing may yet arrive, and then the copy', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network } = createPair(world);
    network.treat(OTHER, 'late');
    const results = await world.run(here.publisher.publish(topic, produced(['1'], { segment, sequence: 1 }), world.signal));
    expect(errorOf(results)).toMatchObject({ kind: 'indefinite' });
    network.treat(OTHER, 'answer');
    const gap = await world.run(here.publisher.publish(topic, produced(['1'], { segment, sequence: 1 }), world.signal));
    expect(errorOf(gap)).toMatchObject({ code: 'sequence-gap' });
  });
});

describe('a sealed segment, found over there', () => {
  test('has its messages sliced anew for the successors', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network } = createPair(world);
    await replaceSegment(world, topic, { segment: firstSegment(topic), children: 2 });
    const results = await world.run(here.publisher.publish(topic, publishOf(SPREAD), world.signal));
    const where = new Map((await readTopicLog(world, topic.id)).flatMap((log) => log.messages.map((one) => [one.value, one] as const)));
    expect(brief(results)).toEqual(SPREAD.map(([, value]) => `${where.get(value)?.segment}:${where.get(value)?.offset}`));
    expect(new Set([...where.values()].map(({ segment }) => segment))).toEqual(new Set([segmentId(1), segmentId(2)]));
    // Once to the sealed one, then both successors together.
    expect(network.received).toHaveLength(2);
  });

  test('is a producer’s to leave: it is told who goes on, also where the answer was lost', async () => {
    for (const treatment of ['answer', 'cut'] as const) {
      const world = createTestWorld();
      const topic = await world.topic();
      const segment = firstSegment(topic);
      const { here, network } = createPair(world);
      await replaceSegment(world, topic, { segment, children: 1 });
      network.treat(OTHER, treatment);
      const results = await world.run(here.publisher.publish(topic, produced(['1'], { segment, sequence: 0 }), world.signal));
      expect(errorOf(results)).toMatchObject({ code: 'segment-sealed', extra: { segment, successors: [{ segment: segmentId(1) }] } });
    }
  });
});
