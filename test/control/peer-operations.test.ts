import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeAnswer, encodeMessage, PEER_MESSAGES } from '../../src/control/peer-messages.ts';
import { createPeerOperations } from '../../src/control/peer-operations.ts';
import { decodeUtf8, encodeUtf8 } from '../../src/format/utf8.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { PeerOperation } from '../../src/ports/peers.ts';
import type { LeaderService } from '../../src/control/control.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { PEER_ANSWER_BYTES_MAX, SEGMENTS_OPEN_MAX } from '../../src/model/limits.ts';
import { PLANS_LINES_MAX, PRESSED_SEGMENTS_MAX } from '../../src/model/scaling-limits.ts';
import type { HeldBack, HotKey, PlannedOutcome, TopicLoads, TopicPlan } from '../../src/model/scaling.ts';
import { brokerId } from './some-broker.ts';

const { signal } = new AbortController();
const TOPIC = 'tz7unqpl8fj8enug';
const refusing = () => Promise.reject(new KelpError('unavailable', 'not-leader', 'this broker does not lead'));

const REFUSING: LeaderService = {
  assign: refusing,
  suspect: refusing,
  drain: refusing,
  change: refusing,
  rebalance: refusing,
  nudge: refusing,
  loads: refusing,
};

/** Operations of a broker that leads where it does any of this. */
const operationsOf = (service: Partial<LeaderService> = {}): Readonly<Record<string, PeerOperation>> =>
  createPeerOperations({
    self: brokerId('a'),
    registration: { instance: 'i1', version: () => 7 },
    leadership: { current: () => undefined },
    noteAsked: () => undefined,
    service: { ...REFUSING, ...service },
  });
const operations = operationsOf();
const call = async (operation: string, body: string | Uint8Array, of = operations): Promise<unknown> => {
  const answer = await of[operation]?.(typeof body === 'string' ? encodeUtf8(body) : body, signal);
  return JSON.parse(decodeUtf8(answer ?? new Uint8Array()) ?? '') as unknown;
};

const REQUESTS = {
  lease: {},
  probe: {},
  assign: { topic: TOPIC, name: 'orders', segment: 's0000000' },
  suspect: { topic: TOPIC, segment: 's0000000', broker: 'b' },
  drain: { broker: 'b', perSecond: 20 },
  change: { topic: TOPIC, change: { kind: 'split', id: 'c0123456789abcdef', segment: 's0000000', at: 7 } },
  rebalance: { dryRun: true },
  nudge: { topic: TOPIC, pressures: [{ topic: TOPIC, segment: 's0000000', throttledWrites: 3, queuedMs: 0 }] },
  loads: { topic: TOPIC },
} as const;

describe('an operation', () => {
  test('of whoever lives answers which life it is; of the leader is refused by others', async () => {
    expect(await call('probe', '{}')).toEqual({ broker: 'a', instance: 'i1', version: 7 });
    for (const operation of ['lease', 'assign', 'suspect', 'drain', 'change', 'rebalance', 'nudge', 'loads'] as const) {
      const asked = call(operation, JSON.stringify(REQUESTS[operation]));
      await expect(asked).rejects.toMatchObject({ kind: 'unavailable', code: 'not-leader' });
    }
  });

  test('takes its members, and those that a newer version adds', async () => {
    expect(await call('probe', '{"more":1}')).toMatchObject({ broker: 'a' });
    const isInvalid = { kind: 'invalid', code: 'invalid-request' };
    for (const [operation, request] of Object.entries(REQUESTS)) {
      const wrong: unknown[] = [[], 'text', null, 7];
      for (const [name, value] of Object.entries(request)) {
        const { [name]: _, ...without } = request as Record<string, unknown>;
        wrong.push(without, { ...request, [name]: null }, { ...request, [name]: [value] }, { ...request, [name]: '' });
      }
      for (const body of wrong) await expect(call(operation, JSON.stringify(body))).rejects.toMatchObject(isInvalid);
      for (const body of ['', '{', new Uint8Array([0xff, 0xfe])]) await expect(call(operation, body)).rejects.toMatchObject(isInvalid);
    }
    for (const perSecond of [0, -1, 1.5, 1_001]) {
      await expect(call('drain', JSON.stringify({ broker: 'b', perSecond }))).rejects.toMatchObject(isInvalid);
    }
    const { change } = REQUESTS.change;
    for (const wrong of [
      { at: -1 },
      { at: 1.5 },
      { at: 65_536 },
      { id: 'c1' },
      { kind: 'merge' },
      { kind: 'merge', segments: ['s0000000'] },
    ]) {
      const body = JSON.stringify({ topic: TOPIC, change: { ...change, ...wrong } });
      await expect(call('change', body)).rejects.toMatchObject(isInvalid);
    }
    for (const topic of ['orders', null, 7, TOPIC.toUpperCase()]) {
      await expect(call('rebalance', JSON.stringify({ dryRun: false, topic }))).rejects.toMatchObject(isInvalid);
    }
    for (const dryRun of ['true', 1]) await expect(call('rebalance', JSON.stringify({ dryRun }))).rejects.toMatchObject(isInvalid);
    const [pressure] = REQUESTS.nudge.pressures;
    for (const wrong of [{ topic: 'orders' }, { segment: 7 }, { throttledWrites: 0.5 }, { queuedMs: -1 }, { queuedMs: undefined }]) {
      const body = JSON.stringify({ topic: TOPIC, pressures: [{ ...pressure, ...wrong }] });
      await expect(call('nudge', body)).rejects.toMatchObject(isInvalid);
    }
    const many = Array.from({ length: PRESSED_SEGMENTS_MAX + 1 }, () => pressure);
    await expect(call('nudge', JSON.stringify({ topic: TOPIC, pressures: many }))).rejects.toMatchObject(isInvalid);
  });

  test('nothing that comes in makes it fail in any other way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), fc.constantFrom(...Object.keys(REQUESTS)), async (body, operation) => {
        await expect(call(operation, body)).rejects.toMatchObject({ code: 'invalid-request' });
      }),
    );
  });
});

test('an answer that is not understood is no answer', () => {
  const { answer } = PEER_MESSAGES.suspect;
  expect(decodeAnswer(answer, encodeMessage({ dead: true }))).toEqual({ dead: true });
  expect(decodeAnswer(answer, encodeMessage({ dead: true, more: 1 }))).toEqual({ dead: true });
  for (const odd of [{}, { dead: 'yes' }, []]) {
    expect(() => decodeAnswer(answer, encodeMessage(odd))).toThrow(expect.objectContaining({ kind: 'unavailable', code: 'peer-odd' }));
  }
});

const someSegment = fc.nat({ max: 2_000 }).map(segmentId);
const partition = fc.nat({ max: 65_535 });
const rate = fc.double({ min: 0, max: 1e12, noNaN: true });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const outcome = {
  children: fc.array(someSegment, { minLength: 1, maxLength: 2 }),
  refused: fc.constantFrom('segment-sealed', 'not-splittable'),
};
const splitReason = fc.oneof(
  fc.record({
    why: fc.constantFrom('over-target' as const, 'severe' as const, 'throttled' as const),
    load: rate,
    measure: fc.constantFrom('messages' as const, 'bytes' as const, 'commits' as const),
  }),
  fc.record({ why: fc.constant('minimum' as const), load: rate, minSegments: fc.nat() }),
);
const mergeReason = fc.record({ why: fc.constant('quiet' as const), load: rate, loadMax: rate, average: rate });
const someChange: fc.Arbitrary<PlannedOutcome> = fc.oneof(
  fc.record(
    { kind: fc.constant('split' as const), segment: someSegment, at: partition, reason: splitReason, ...outcome },
    { requiredKeys: ['kind', 'segment', 'at', 'reason'] },
  ),
  fc.record(
    { kind: fc.constant('merge' as const), segments: fc.tuple(someSegment, someSegment), reason: mergeReason, ...outcome },
    { requiredKeys: ['kind', 'segments', 'reason'] },
  ),
);
const someHotKey: fc.Arbitrary<HotKey> = fc.record({ segment: someSegment, lo: partition, hi: partition, share, load: rate });
const HELD_WHY: readonly HeldBack['why'][] = ['hot-key', 'one-partition', 'cool-down', 'limit', 'in-vain', 'not-known', 'busy'];
const heldBack = fc.record({
  segment: someSegment,
  why: fc.constantFrom(...HELD_WHY),
  load: rate,
});
const somePlan: fc.Arbitrary<TopicPlan> = fc.record({
  topic: fc.constant(TOPIC as TopicId),
  name: fc.constantFrom('orders', 'a.b-c_0'),
  segments: fc.nat({ max: SEGMENTS_OPEN_MAX }),
  changes: fc.array(someChange, { maxLength: 5 }),
  hotKeys: fc.array(someHotKey, { maxLength: 3 }),
  held: fc.array(heldBack, { maxLength: 3 }),
});
const someLoads: fc.Arbitrary<TopicLoads> = fc.record({
  segments: fc.array(fc.record({ segment: someSegment, messages: rate, bytes: rate, commits: rate, load: rate })),
  hotKeys: fc.array(someHotKey, { maxLength: 3 }),
});

describe('what a look at topics has found', () => {
  // JSON has no −0.
  const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

  test('comes over as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(somePlan, { maxLength: 4 }), fc.boolean(), async (plans, dryRun) => {
        let asked: unknown;
        const answer = await operationsOf({ rebalance: (given) => ((asked = given), Promise.resolve(plans)) })['rebalance']?.(
          encodeMessage({ dryRun, topic: TOPIC }),
          signal,
        );
        expect(asked).toEqual({ dryRun, topic: TOPIC });
        expect(decodeAnswer(PEER_MESSAGES.rebalance.answer, answer as Uint8Array)).toEqual({ topics: plain(plans) });
      }),
    );
  });

  test('and loads, and what presses', async () => {
    await fc.assert(
      fc.asyncProperty(someLoads, async (known) => {
        const answer = await operationsOf({ loads: () => Promise.resolve(known) })['loads']?.(encodeMessage({ topic: TOPIC }), signal);
        expect(decodeAnswer(PEER_MESSAGES.loads.answer, answer as Uint8Array)).toEqual(plain(known));
      }),
    );
    const noted: unknown[] = [];
    const nudge: LeaderService['nudge'] = (...given) => (noted.push(given.slice(0, 2)), Promise.resolve());
    expect(await call('nudge', JSON.stringify(REQUESTS.nudge), operationsOf({ nudge }))).toEqual({});
    expect(noted).toEqual([[TOPIC, REQUESTS.nudge.pressures]]);
  });

  test('is cut at what a broker may answer, at whole topics', async () => {
    const held = Array.from({ length: SEGMENTS_OPEN_MAX }, (_, n) => {
      return { segment: segmentId(n), why: 'one-partition' as const, load: 123_456.789_123_456 };
    });
    const hotKeys = held.map(({ segment, load }) => ({ segment, lo: 65_535, hi: 65_535, share: 0.987_654_321_098_765, load }));
    const changes = hotKeys.map(({ segment, load }): PlannedOutcome => {
      const reason = { why: 'quiet' as const, load, loadMax: load, average: load };
      return { kind: 'merge', segments: [segment, segment], reason, children: [segment] };
    });
    const name = 'n'.repeat(128);
    const plans = Array.from({ length: 40 }, () => ({
      topic: TOPIC as TopicId,
      name,
      segments: SEGMENTS_OPEN_MAX,
      changes,
      hotKeys,
      held,
    }));
    const body = (await operationsOf({ rebalance: () => Promise.resolve(plans) })['rebalance']?.(
      encodeMessage({ dryRun: true }),
      signal,
    )) as Uint8Array;
    expect(body.length).toBeLessThan(PEER_ANSWER_BYTES_MAX);
    const { topics } = decodeAnswer(PEER_MESSAGES.rebalance.answer, body);
    expect(topics).toHaveLength(Math.floor(PLANS_LINES_MAX / (1 + 3 * SEGMENTS_OPEN_MAX)));
    expect(topics[0]).toEqual(plans[0]);
    const small = plans.slice(0, 2).map((plan) => ({ ...plan, changes: [], hotKeys: [], held: [] }));
    expect(await call('rebalance', '{"dryRun":true}', operationsOf({ rebalance: () => Promise.resolve(small) }))).toEqual({
      topics: small,
    });
  });

  test('that is not understood is no answer', () => {
    const { rebalance, loads: messages } = PEER_MESSAGES;
    const sound = { topic: TOPIC, name: 'orders', segments: 1, changes: [], hotKeys: [], held: [] };
    expect(decodeAnswer(rebalance.answer, encodeMessage({ topics: [{ ...sound, more: 1 }] }))).toEqual({ topics: [sound] });
    const tooMany = Array.from({ length: SEGMENTS_OPEN_MAX + 1 }, (_, n) => ({ segment: segmentId(n), why: 'limit', load: 1 }));
    for (const odd of [
      {},
      { topics: {} },
      { topics: [{ ...sound, segments: -1 }] },
      { topics: [{ ...sound, changes: [{ kind: 'split', segment: 's0000000', at: 7 }] }] },
      { topics: [{ ...sound, changes: [{ kind: 'move', segment: 's0000000' }] }] },
      { topics: [{ ...sound, hotKeys: [{ segment: 's0000000', lo: 1, hi: 1, share: 1.5, load: 2 }] }] },
      { topics: [{ ...sound, held: tooMany }] },
    ]) {
      expect(() => decodeAnswer(rebalance.answer, encodeMessage(odd))).toThrow(expect.objectContaining({ code: 'peer-odd' }));
    }
    for (const odd of [
      {},
      { segments: [], hotKeys: {} },
      { segments: [{ segment: 's0000000', messages: -1, bytes: 0, commits: 0, load: 0 }], hotKeys: [] },
    ]) {
      expect(() => decodeAnswer(messages.answer, encodeMessage(odd))).toThrow(expect.objectContaining({ code: 'peer-odd' }));
    }
  });
});
