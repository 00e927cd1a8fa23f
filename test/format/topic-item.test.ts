import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTopic, encodeTopic } from '../../src/format/topic-item.ts';
import type { TopicId } from '../../src/model/ids.ts';
import { CHANGE_KINDS, type PartitionKey, type Topic, type TopologyChange } from '../../src/model/topic.ts';
import { arbitrarySegment, arbitrarySegmentRange, arbitraryServedRange } from './arbitrary-head.ts';
import { arbitraryId } from './arbitrary-id.ts';
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
const topic: fc.Arbitrary<Topic> = fc.record({
  id: arbitraryId as fc.Arbitrary<TopicId>,
  name: fc.string(),
  tenant: fc.string(),
  settings: fc.record({ partitionKey, segments: fc.nat(), replicas: fc.nat() }),
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
      expect(undetected(encodeTopic(value), decodeTopic, { optional: ['replicas'] })).toEqual([]);
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
