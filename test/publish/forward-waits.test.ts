import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { FORWARD_SUSPECT_MS } from '../../src/model/limits.ts';
import { createForwarding } from '../../src/publish/forward.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { createHeads } from '../../src/state/heads.ts';
import { readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { addressOf, countedStore, createPair, errorOf, OTHER, SPREAD } from './forwarding.ts';
import { brief, firstSegment, produced, publishOf } from './requests.ts';

describe('a broker that takes its time', () => {
  test('is a suspect again and again, and its answer still counts', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network, routes } = createPair(world);
    network.treat(OTHER, 5 * FORWARD_SUSPECT_MS);
    const sent = here.publisher.publish(topic, publishOf(['1']), world.signal);
    await world.clock.advance(FORWARD_SUSPECT_MS - 1);
    expect(routes.suspected).toEqual([]);
    await world.clock.advance(1);
    expect(routes.suspected).toEqual([OTHER]);
    await world.clock.advance(FORWARD_SUSPECT_MS);
    expect(routes.suspected).toEqual([OTHER, OTHER]);
    expect(brief(await world.run(sent))).toEqual(['s0000000:0']);
    expect(world.clock.sleeping()).toBe(0);
  });

  test('and turns out to be dead is waited for no longer: what it may have stored is unknown, but a producer’s', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network, routes } = createPair(world);
    network.treat(OTHER, 'hang');
    const plain = here.publisher.publish(topic, publishOf(['1']), world.signal);
    const line = here.publisher.publish(topic, produced(['2'], { segment, sequence: 0 }), world.signal);
    await world.clock.advance(FORWARD_SUSPECT_MS);
    routes.dead.add(OTHER);
    await world.clock.advance(FORWARD_SUSPECT_MS + 500);
    expect(errorOf(await plain)).toMatchObject({ kind: 'indefinite' });
    expect(brief(await line)).toEqual(['s0000000:0']);
    expect(await readValues(world, topic.id)).toEqual(['2']);
    expect(world.clock.sleeping()).toBe(0);
  });

  test('is waited for no longer once the segment is sealed, and still it says nothing: its leader has moved it', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network } = createPair(world);
    network.treat(OTHER, 'hang');
    const plain = here.publisher.publish(topic, publishOf(['1']), world.signal);
    const line = here.publisher.publish(topic, produced(['2'], { segment, sequence: 0 }), world.signal);
    const ended: unknown[] = [];
    for (const one of [plain, line]) void one.then((results) => ended.push(results));
    await world.clock.advance(100);
    // Another topic's segments, and a change that leaves this one open.
    for (const name of ['other', topic.name]) here.publisher.refreshed(name);
    await world.clock.advance(FORWARD_SUSPECT_MS);
    await replaceSegment(world, topic, { segment, children: 1 });
    expect(ended).toEqual([]);
    here.publisher.refreshed(topic.name);
    await world.clock.advance(FORWARD_SUSPECT_MS + 100);
    expect(ended).toHaveLength(2);
    expect(errorOf(await plain)).toMatchObject({ kind: 'indefinite' });
    expect(errorOf(await line)).toMatchObject({ code: 'segment-sealed' });
    expect(world.clock.sleeping()).toBe(0);
  });

  test('that answers in time is none, and leaves nothing that wakes', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, routes } = createPair(world);
    await world.run(here.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(world.clock.sleeping()).toBe(0);
    await world.clock.advance(10_000);
    expect(routes.suspected).toEqual([]);
  });

  test('holds back the batches of a line behind the one that it has, and no other line', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network } = createPair(world);
    network.treat(OTHER, 100);
    const send = (producer: string, sequence: number) =>
      here.publisher.publish(topic, produced([`${producer}${sequence}`], { segment, producer, sequence }), world.signal);
    const sent = [send('p', 0), send('p', 1), send('p', 2), send('q', 0)];
    await world.clock.advance(50);
    expect(network.received).toHaveLength(2);
    const results = (await world.run(Promise.all(sent))).map(brief);
    expect(results.flat().filter((result) => !/^s0000000:\d$/.test(result))).toEqual([]);
    const values = await readValues(world, topic.id);
    expect(values.filter((value) => value.startsWith('p'))).toEqual(['p0', 'p1', 'p2']);
    expect(values).toHaveLength(4);
  });

  test('keeps a line in order while it is asked who serves the segment', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { network, routes } = createPair(world);
    const answers = [world.clock.sleep(200, world.signal).then(() => [addressOf('other')])];
    const here = world.broker({ routes: { ...routes, of: () => answers[0] ?? [] } });
    const send = (sequence: number) => here.publisher.publish(topic, produced([String(sequence)], { segment, sequence }), world.signal);
    const first = send(0);
    await world.clock.advance(10);
    // From now on it is known, and here.
    const asked = answers.splice(0);
    const second = send(1);
    await world.clock.advance(100);
    expect(network.received).toEqual([]);
    const results = await world.run(Promise.all([first, second, ...asked]));
    expect(results.slice(0, 2)).toMatchObject([[{ offset: 0 }], [{ offset: 1 }]]);
  });

  test('is not asked in vain: a route that can’t be read fails the publish, and nothing else', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { routes } = createPair(world);
    const unreadable = new KelpError('unavailable', 'unavailable', 'the table does not answer');
    const here = world.broker({
      routes: { ...routes, of: () => world.clock.sleep(10, world.signal).then(() => Promise.reject(unreadable)) },
    });
    const sent = [0, 1].map((sequence) => here.publisher.publish(topic, produced(['x'], { segment, sequence }), world.signal));
    const results = await world.run(Promise.allSettled(sent));
    expect(results).toMatchObject([{ reason: unreadable }, { reason: unreadable }]);
    expect(await readValues(world, topic.id)).toEqual([]);
  });

  test('keeps a line in order when its segment changes hands meanwhile, to and fro', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network, routes } = createPair(world, { here: countedStore(world, 70) });
    const sent: Promise<PublishResult>[] = [];
    for (let sequence = 0; sequence < 12; sequence += 1) {
      routes.to.set('all', sequence % 4 < 2 ? [addressOf('other')] : []);
      network.treat(OTHER, 1 + ((sequence * 37) % 100));
      sent.push(here.publisher.publish(topic, produced([String(sequence)], { segment, sequence }), world.signal));
    }
    const results = await world.run(Promise.all(sent));
    expect(results.flatMap(brief)).toEqual(sent.map((_, n) => `s0000000:${n}`));
  });
});

describe('a caller that stops waiting', () => {
  test('before anything was sent gets its reason, and nothing is stored', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network } = createPair(world);
    network.treat(OTHER, 1_000);
    const first = here.publisher.publish(topic, produced(['0'], { segment, sequence: 0 }), world.signal);
    const leaver = new AbortController();
    const behind = here.publisher.publish(topic, produced(['1'], { segment, sequence: 1 }), leaver.signal);
    await world.clock.advance(10);
    const reason = new Error('gone');
    leaver.abort(reason);
    await expect(behind).rejects.toBe(reason);
    await world.run(first);
    expect(await readValues(world, topic.id)).toEqual(['0']);
  });

  test.each([undefined, 'p'])('while the other one has it: nobody knows (producer %s)', async (producer) => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const { here, network } = createPair(world);
    network.treat(OTHER, 'hang');
    const leaver = new AbortController();
    const request = producer === undefined ? publishOf(['1']) : produced(['1'], { segment, producer, sequence: 0 });
    const sent = here.publisher.publish(topic, request, leaver.signal);
    await world.clock.advance(10);
    leaver.abort(new Error('gone'));
    expect(errorOf(await sent)).toMatchObject({ kind: 'indefinite' });
  });

  test('has its memory held until then', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { here, network } = createPair(world, { here: { queueBytesMax: 200 } });
    network.treat(OTHER, 'hang');
    const leaver = new AbortController();
    const sent = here.publisher.publish(topic, publishOf(['x'.repeat(300)]), leaver.signal);
    await world.clock.advance(10);
    expect(here.publisher.isFull()).toBe(true);
    await expect(here.publisher.publish(topic, publishOf(['2']), world.signal)).rejects.toMatchObject({ code: 'unavailable' });
    leaver.abort(new Error('gone'));
    await sent;
    expect(here.publisher.isFull()).toBe(false);
  });

  test('of a part that waits here, while another is with others: that part alone has failed', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const { here, routes } = createPair(world, { here: countedStore(world, 5_000) });
    const [near, far] = topic.open.map(({ segment }) => segment);
    if (near === undefined || far === undefined) throw new Error('two segments');
    routes.to.set(near, []);
    // All groups that may be in flight are: the next one queues.
    const busy = Array.from({ length: 4 }, async (_, n) => {
      await world.clock.sleep(n * 200, world.signal);
      return here.publisher.publish(topic, { ...publishOf([['k1', `b${n}`]]), segment: near }, world.signal).catch(() => undefined);
    });
    await world.clock.advance(1_000);
    const leaver = new AbortController();
    const sent = here.publisher.publish(topic, publishOf(SPREAD), leaver.signal);
    await world.clock.advance(100);
    leaver.abort(new KelpError('unavailable', 'timeout', 'late'));
    const results = await world.run(sent);
    const stored = results.filter((result) => !(result instanceof KelpError));
    expect(stored.length).toBeGreaterThan(0);
    expect(errorOf(results)).toMatchObject({ kind: 'unavailable' });
    await world.run(Promise.all(busy));
    expect((await readValues(world, topic.id)).filter((value) => value.startsWith('v'))).toHaveLength(stored.length);
  });
});

test('forwards are counted by what became of them', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const telemetry = createRecordingTelemetry();
  const { network, routes } = createPair(world);
  // What none of them takes would be committed here.
  const unused = (): never => {
    throw new Error('nothing is committed here');
  };
  const { submit } = createForwarding({
    groups: { submit: unused },
    routes,
    heads: createHeads(world.table),
    clock: world.clock,
    telemetry,
  });
  const hold = { share: () => undefined, release: () => undefined };
  const part = { segment: firstSegment(topic), batches: [], bytes: 0, count: 1, buckets: [], highestTimestampMs: 0 };
  const outcomes: (string | undefined)[] = [];
  for (const treatment of ['answer', 'refuse', 'cut'] as const) {
    network.treat(OTHER, treatment);
    // An empty part is no publish: the other one has taken nothing.
    await world.run(submit({ topic, parts: [part], alone: false, hold }, world.signal)).catch(() => undefined);
    outcomes.push(telemetry.counts.at(-1)?.attributes['outcome']);
  }
  expect(outcomes).toEqual(['busy', 'refused', 'indefinite']);
});
