import { describe, expect, test } from 'vitest';
import { createControl } from '../../src/control/create-control.ts';
import { encodeMessage } from '../../src/control/peer-messages.ts';
import { encodeProblem } from '../../src/format/peer-problem.ts';
import { leaseKey } from '../../src/format/item-key.ts';
import { type BrokerKind, IDLE } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId } from '../../src/model/ids.ts';
import { LOADS_ASK_MS_MAX } from '../../src/model/scaling-limits.ts';
import type { TopicLoads } from '../../src/model/scaling.ts';
import type { Peers } from '../../src/ports/peers.ts';
import { createHeads } from '../../src/state/heads.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { writeLease } from './leader/lease-items.ts';
import { brokerId } from './some-broker.ts';

const LOADS: TopicLoads = { segments: [{ segment: segmentId(0), messages: 1, bytes: 2, commits: 3, load: 0.5 }], hotKeys: [] };
const answers: Peers['send'] = () => Promise.resolve({ status: 200, body: encodeMessage(LOADS) });
const refuses: Peers['send'] = () => Promise.reject(new KelpError('unavailable', 'peer-refused', 'nobody listens'));
const silent: Peers['send'] = () => new Promise(() => undefined);

/** An instance that has never led, beside whoever holds the lease. */
async function beside(leader: string | undefined, send?: Peers['send'], kind?: BrokerKind) {
  const world = createTestWorld();
  const topic = await world.topic(1);
  if (leader !== undefined) await writeLease(world.table, { broker: leader });
  const control = createControl({
    ...world,
    heads: createHeads(world.table),
    telemetry: { count: () => undefined, adjust: () => undefined, record: () => undefined, log: () => undefined },
    meter: { sample: () => IDLE },
    pressure: { sample: () => [] },
    ...(send === undefined ? {} : { peers: { send } }),
    ...(kind === undefined ? {} : { self: { id: brokerId('f'), url: 'http://f', kind, zone: '' } }),
  });
  const loads = (signal: AbortSignal = world.signal) => control.loads(topic, signal);
  return { world, loads, lease: async () => world.table.get(leaseKey(), world.signal) };
}

describe('the loads of a topic', () => {
  test('are what the leader says', async () => {
    const { world, loads } = await beside('l', answers);
    expect(await world.run(loads())).toEqual(LOADS);
  });

  test.each([
    ['nobody leads', undefined, answers],
    ['nobody can be asked', 'l', undefined],
    ['the leader is gone', 'l', refuses],
    ['the leader leads no more', 'l', () => failing('not-leader')],
    ['the leader is of a version without them', 'l', () => failing('path-not-found')],
    ['what comes is not understood', 'l', () => Promise.resolve({ status: 200, body: encodeMessage({ segments: 7 }) })],
  ] as readonly [string, string | undefined, Peers['send'] | undefined][])('are not known where %s, at once', async (_, leader, send) => {
    const { world, loads } = await beside(leader, send);
    expect(await loads()).toBeUndefined();
    expect(world.clock.monotonicMs()).toBe(0);
  });

  test('are waited for so long, and no longer', async () => {
    const { world, loads } = await beside('l', silent);
    expect(await world.run(loads())).toBeUndefined();
    expect(world.clock.monotonicMs()).toBe(LOADS_ASK_MS_MAX);
  });

  test('end with their caller, as it says', async () => {
    const { world, loads } = await beside('l', silent);
    const ends = new AbortController();
    const reason = loads(ends.signal).catch((error: unknown) => error);
    await world.clock.advance(10);
    const gone = new Error('gone');
    ends.abort(gone);
    expect(await reason).toBe(gone);
  });

  test.each([
    ['a mistake in the code', new TypeError('loads is not iterable')],
    ['something that is damaged', new KelpError('corrupt', 'corrupt', 'stored field epoch is damaged')],
  ])('%s is not taken for loads that nobody knows', async (_, error) => {
    const { loads } = await beside('l', () => Promise.reject(error));
    await expect(loads()).rejects.toBe(error);
  });

  test('are worth no lease to a function', async () => {
    for (const send of [answers, undefined]) {
      const { world, loads, lease } = await beside(undefined, send, 'fleet');
      expect(await world.run(loads())).toBeUndefined();
      expect(await lease()).toBeUndefined();
    }
  });
});

const failing = (code: string) => Promise.resolve({ status: 503, body: encodeProblem(new KelpError('unavailable', code, 'no')) });
