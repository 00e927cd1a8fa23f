import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTopic, encodeTopic } from '../../src/format/topic-item.ts';
import type { TopicId } from '../../src/model/ids.ts';
import type { ExpectedFlood, ScalingSettings } from '../../src/model/scaling.ts';
import {
  CHANGE_KINDS,
  type PartitionKey,
  type Retention,
  type Topic,
  type TopicSchema,
  type TopologyChange,
} from '../../src/model/topic.ts';
import type { Item } from '../../src/ports/metadata-table.ts';
import { arbitrarySegment, arbitrarySegmentRange, arbitraryServedRange } from './arbitrary-head.ts';
import { arbitraryId } from './arbitrary-id.ts';
import { arbitraryTypedColumn } from './arbitrary-typed-column.ts';
import { undetected } from './damage.ts';

const partitionKey: fc.Arbitrary<PartitionKey> = fc.oneof(
  fc.constant('key' as const),
  fc.record({ header: fc.string() }),
  fc.record({ pointer: fc.string() }),
);
const change: fc.Arbitrary<TopologyChange> = fc.record({
  id: arbitraryId,
  kind: fc.constantFrom(...CHANGE_KINDS),
  parents: fc.array(arbitrarySegment, { maxLength: 3 }),
  children: fc.array(arbitraryServedRange, { maxLength: 3 }),
});
const flood: fc.Arbitrary<ExpectedFlood> = fc.record(
  { cron: fc.string(), durationSeconds: fc.nat(), minSegments: fc.nat(), timeZone: fc.string() },
  { requiredKeys: ['cron', 'durationSeconds', 'minSegments'] },
);
const scaling: fc.Arbitrary<ScalingSettings> = fc.record({
  minSegments: fc.nat(),
  maxSegments: fc.nat(),
  targetBytesPerSecond: fc.maxSafeNat(),
  targetMessagesPerSecond: fc.maxSafeNat(),
  targetCommitsPerSecond: fc.maxSafeNat(),
  schedule: fc.array(flood, { maxLength: 3 }),
});
const retention: fc.Arbitrary<Retention> = fc.record({ maxAgeSeconds: fc.nat(), maxBytes: fc.maxSafeNat() }, { requiredKeys: [] });
const schema: fc.Arbitrary<TopicSchema> = fc.record({ json: fc.string(), columns: fc.array(arbitraryTypedColumn, { maxLength: 3 }) });
const topic: fc.Arbitrary<Topic> = fc.record({
  id: arbitraryId as fc.Arbitrary<TopicId>,
  name: fc.string(),
  tenant: fc.string(),
  settings: fc.record(
    { partitionKey, segments: fc.nat(), replicas: fc.nat(), scaling, retention, schema },
    { requiredKeys: ['partitionKey', 'segments', 'replicas'] },
  ),
  state: fc.constantFrom('active', 'deleting', 'deleted'),
  version: fc.nat(),
  firstSegment: fc.nat(),
  nextSegment: fc.nat(),
  open: fc.array(arbitrarySegmentRange, { maxLength: 5 }),
  changes: fc.array(change, { maxLength: 2 }),
  createdMs: fc.nat(),
});

test('a topic comes back as it was', () => {
  fc.assert(
    fc.property(topic, (value) => {
      expect(decodeTopic(encodeTopic(value))).toEqual(value);
    }),
  );
});

test('a topic with anything of another type, or left out, is corrupt', () => {
  fc.assert(
    fc.property(topic, (value) => {
      expect(undetected(encodeTopic(value), decodeTopic, { optional: ['replicas', 'scaling', 'retention', 'schema'] })).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test('a topic of before there was scaling, retention or a schema has none, and no attribute is stored for it', () => {
  fc.assert(
    fc.property(topic, (value) => {
      const { scaling: _, retention: __, schema: ___, ...older } = encodeTopic(value);
      const decoded = decodeTopic(older);
      expect(Object.keys(decoded.settings).toSorted()).toEqual(['partitionKey', 'replicas', 'segments']);
      expect(encodeTopic(decoded)).toEqual(older);
    }),
  );
});

test('scaling with a number that is none, or without one of its members, is corrupt', () => {
  fc.assert(
    fc.property(topic, scaling, flood, (value, settings, { cron, durationSeconds, minSegments }) => {
      const first = { cron, durationSeconds, minSegments };
      const whole = encodeTopic({ ...value, settings: { ...value.settings, scaling: { ...settings, schedule: [first] } } });
      const decode = (stored: Item): Topic => decodeTopic({ ...whole, scaling: stored });
      expect(undetected(whole['scaling'] as Item, decode)).toEqual([]);
      const [stored] = (whole['scaling'] as { readonly schedule: readonly Item[] }).schedule;
      const decodeFlood = (damaged: Item): Topic => decode({ ...(whole['scaling'] as Item), schedule: [damaged] });
      expect(undetected(stored as Item, decodeFlood)).toEqual([]);
      for (const member of ['min', 'max', 'bytes', 'messages', 'commits'])
        expect(() => decode({ ...(whole['scaling'] as Item), [member]: 1.5 })).toThrow(expect.objectContaining({ kind: 'corrupt' }));
    }),
    { numRuns: 20 },
  );
});

test('a schema of which anything is left out is corrupt', () => {
  fc.assert(
    fc.property(topic, schema, arbitraryTypedColumn, (value, { json }, column) => {
      const whole = encodeTopic({ ...value, settings: { ...value.settings, schema: { json, columns: [column] } } });
      const stored = whole['schema'] as { readonly columns: readonly Item[] };
      expect(undetected(whole['schema'] as Item, (damaged) => decodeTopic({ ...whole, schema: damaged }))).toEqual([]);
      const decodeColumn = (damaged: Item): Topic => decodeTopic({ ...whole, schema: { ...stored, columns: [damaged] } });
      expect(undetected(stored.columns[0] as Item, decodeColumn, { optional: ['r', 'n'] })).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test.each([
  { state: 'gone' },
  { partitionKey: 'value' },
  { partitionKey: {} },
  { changes: [{ id: 'x', kind: 'fold', parents: [], children: [] }] },
])('a state, a kind of change or a partition key that nobody knows is corrupt: %j', (damage) => {
  const [value] = fc.sample(topic, 1);
  if (value === undefined) throw new Error('no topic');
  expect(() => decodeTopic({ ...encodeTopic(value), ...damage })).toThrow(expect.objectContaining({ kind: 'corrupt' }));
});
