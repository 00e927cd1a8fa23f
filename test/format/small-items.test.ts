import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBroker, encodeBroker } from '../../src/format/broker-item.ts';
import { decodeDeletion, encodeDeletion } from '../../src/format/deletion-item.ts';
import { decodeIdempotency, encodeIdempotency } from '../../src/format/idempotency-item.ts';
import { decodeLease, encodeLease } from '../../src/format/lease-item.ts';
import { decodeName, encodeName } from '../../src/format/name-item.ts';
import { decodeScaleHistory, encodeScaleHistory, type ScaleHistory } from '../../src/format/scale-history-item.ts';
import { decodeSegment, encodeSegment } from '../../src/format/segment-item.ts';
import type { BrokerRecord } from '../../src/model/broker.ts';
import { type BrokerId, minuteOf, type TopicId } from '../../src/model/ids.ts';
import type { ScaleEvent } from '../../src/model/scale-event.ts';
import type { MergeReason, SplitReason } from '../../src/model/scaling.ts';
import type { Item } from '../../src/ports/metadata-table.ts';
import { arbitraryCommitId, arbitraryRange, arbitrarySegment, arbitrarySegmentRange } from './arbitrary-head.ts';
import { arbitraryId } from './arbitrary-id.ts';
import { undetected } from './damage.ts';

const topicId = arbitraryId as fc.Arbitrary<TopicId>;
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

const name = fc
  .record({ tenant: fc.string(), name: fc.string(), nextSegment: fc.nat(), version: fc.nat(), topic: optional(topicId) })
  .map(({ topic, ...rest }) => ({ ...rest, ...(topic === undefined ? {} : { topic }) }));

const segment = fc
  .tuple(arbitrarySegmentRange, fc.array(arbitrarySegment, { maxLength: 3 }))
  .map(([range, predecessors]) => ({ ...range, predecessors }));

const deletion = fc.record({
  topic: topicId,
  name: fc.string(),
  state: fc.constantFrom('pending' as const, 'cleaned' as const),
  atMs: fc.nat(),
});

const part = fc
  .record({
    range: arbitrarySegmentRange,
    partitions: arbitraryRange,
    cid: arbitraryCommitId,
    tail: fc.maxSafeNat(),
    minute: optional(fc.nat({ max: 2 ** 43 }).map(minuteOf)),
    offset: optional(fc.maxSafeNat()),
    refusedAtTail: optional(fc.maxSafeNat()),
  })
  .map(({ minute, offset, refusedAtTail, ...rest }) => ({
    ...rest,
    ...(minute === undefined ? {} : { minute }),
    ...(offset === undefined ? {} : { offset }),
    ...(refusedAtTail === undefined ? {} : { refusedAtTail }),
  }));
const idempotency = fc.record({
  requestHash: fc.string(),
  version: fc.nat(),
  parts: fc.array(part, { maxLength: 4 }),
  expiresMs: fc.nat({ max: 2 ** 43 }),
});

const lease = fc
  .record({
    holder: fc.string(),
    broker: fc.string() as fc.Arbitrary<BrokerId>,
    url: fc.string(),
    epoch: fc.maxSafeNat(),
    version: fc.maxSafeNat(),
    leaseMs: fc.nat(),
    expiresMs: optional(fc.nat({ max: 2 ** 43 })),
  })
  .map(({ expiresMs, ...rest }) => ({ ...rest, ...(expiresMs === undefined ? {} : { expiresMs }) }));

const brokerLoad = fc.record({
  requests: fc.nat(),
  bytesPerSecond: fc.nat(),
  messagesPerSecond: fc.nat(),
  commitMs: fc.nat(),
  eventLoopDelayMs: fc.nat(),
  busyPercent: fc.nat({ max: 100 }),
  memoryBytes: fc.maxSafeNat(),
});
const pressure = fc.record({ topic: topicId, segment: arbitrarySegment, throttledWrites: fc.nat(), queuedMs: fc.nat() });
const broker: fc.Arbitrary<BrokerRecord> = fc
  .record({
    id: fc.string() as fc.Arbitrary<BrokerId>,
    url: fc.string(),
    kind: fc.constantFrom('process' as const, 'fleet' as const),
    zone: fc.string(),
    instance: fc.string(),
    version: fc.nat(),
    drainPerSecond: optional(fc.nat()),
    drained: optional(fc.constant(true as const)),
    load: brokerLoad,
    pressure: fc.array(pressure, { maxLength: 3 }),
    startedMs: fc.nat({ max: 2 ** 43 }),
    heartbeatMs: fc.nat({ max: 2 ** 43 }),
  })
  .map(({ drainPerSecond, drained, ...rest }) => ({
    ...rest,
    ...(drainPerSecond === undefined ? {} : { drainPerSecond }),
    ...(drained === undefined ? {} : { drained }),
  }));

const load = fc.nat({ max: 10_000_000 }).map((thousandths) => thousandths / 1_000);
const reason: fc.Arbitrary<SplitReason | MergeReason> = fc.oneof(
  fc.record({
    why: fc.constantFrom('over-target' as const, 'severe' as const, 'throttled' as const),
    load,
    measure: fc.constantFrom('messages' as const, 'bytes' as const, 'commits' as const),
  }),
  fc.record({ why: fc.constant('minimum' as const), load, minSegments: fc.nat() }),
  fc.record({ why: fc.constant('quiet' as const), load, loadMax: load, average: load }),
);
const event: fc.Arbitrary<ScaleEvent> = fc
  .tuple(
    fc.record({
      atMs: fc.nat({ max: 2 ** 43 }),
      parents: fc.array(arbitrarySegment, { minLength: 1, maxLength: 2 }),
      children: fc.array(arbitrarySegment, { minLength: 1, maxLength: 2 }),
    }),
    fc.oneof(fc.record({ kind: fc.constant('split' as const), at: fc.nat() }), fc.record({ kind: fc.constant('merge' as const) })),
    fc.oneof(fc.record({ by: fc.constant('hand' as const) }), fc.record({ by: fc.constant('planner' as const), reason })),
  )
  .map(([common, what, cause]) => ({ ...common, ...what, ...cause }));
const scaleHistory: fc.Arbitrary<ScaleHistory> = fc.record({ version: fc.nat(), events: fc.array(event, { maxLength: 4 }) });

type Codec<T> = {
  readonly values: fc.Arbitrary<T>;
  readonly encode: (value: T) => Item;
  readonly decode: (item: Item) => T;
  readonly optional?: readonly string[];
  readonly ignored?: readonly string[];
};

function suite<T>(what: string, codec: Codec<T>): void {
  describe(what, () => {
    test('comes back as it was', () => {
      fc.assert(
        fc.property(codec.values, (value) => {
          expect(codec.decode(codec.encode(value))).toEqual(value);
        }),
      );
    });

    test('with anything of another type, or left out, is corrupt', () => {
      fc.assert(
        fc.property(codec.values, (value) => {
          expect(undetected(codec.encode(value), codec.decode, codec)).toEqual([]);
        }),
        { numRuns: 20 },
      );
    });

    test('of a newer form is corrupt, not guessed at', () => {
      fc.assert(
        fc.property(codec.values, (value) => {
          expect(() => codec.decode({ ...codec.encode(value), v: 2 })).toThrow(expect.objectContaining({ kind: 'corrupt' }));
        }),
        { numRuns: 5 },
      );
    });
  });
}

suite('a name', { values: name, encode: encodeName, decode: decodeName, optional: ['topic'] });
suite('a scale history', { values: scaleHistory, encode: encodeScaleHistory, decode: decodeScaleHistory, ignored: ['tenant'] });
suite('a segment', { values: segment, encode: encodeSegment, decode: decodeSegment, ignored: ['tenant'] });
suite('a deletion', { values: deletion, encode: encodeDeletion, decode: decodeDeletion, ignored: ['tenant'] });
suite('a request', { values: idempotency, encode: encodeIdempotency, decode: decodeIdempotency, ignored: ['ttl', 'tenant'] });
suite('a lease', { values: lease, encode: encodeLease, decode: decodeLease, optional: ['expires'], ignored: ['tenant'] });
suite('a broker', {
  values: broker,
  encode: encodeBroker,
  decode: decodeBroker,
  optional: ['drain', 'drained', 'pressure'],
  ignored: ['tenant'],
});

test('F25: a broker that says nothing of pressure has none', () => {
  fc.assert(
    fc.property(broker, (record) => {
      const { pressure: _, ...older } = encodeBroker(record);
      expect(decodeBroker(older)).toEqual({ ...record, pressure: [] });
    }),
  );
});
