import { describe, expect, test } from 'vitest';
import { batchObjectPrefix } from '../../src/format/object-key.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { message } from '../publish/requests.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { createRealBroker } from './real-broker.ts';

const EVERYTHING = { messagesMax: 10_000, bytesMax: 16_777_216, waitMs: 0 };
const TEST_MS = 60_000;
const soon = (): AbortSignal => AbortSignal.timeout(TEST_MS);

/** Three objects of two messages each, on real stores. */
async function threeObjects(name: string) {
  const addresses = { store: sharedStack().store, table: await freshTable('dynoxide', soon()) };
  const writer = createRealBroker(addresses);
  const { topic } = await writer.topics.create(name, { partitionKey: 'key', segments: 1, replicas: 2 }, soon());
  const keys: string[] = [];
  for (const values of [
    ['a', 'b'],
    ['c', 'd'],
    ['e', 'f'],
  ]) {
    const messages = values.map((value) => message('k', value));
    await writer.publisher.publish(topic, { content: { kind: 'messages', messages } }, soon());
    const { objects } = await writer.store.list(batchObjectPrefix(topic.id), { limit: 10 }, soon());
    keys.push(...objects.map((object) => object.key).filter((key) => !keys.includes(key)));
  }
  const segment = topic.open[0]?.segment as SegmentId;
  const read = async (offset: number): Promise<string> => {
    const { consumer } = createRealBroker(addresses);
    const { slices } = await consumer.readSegment(topic, { segment, from: { offset }, ...EVERYTHING }, soon());
    const stored = (await Promise.all(slices.map((slice) => consumer.decode(slice)))).flat();
    return stored.map(({ value }) => new TextDecoder().decode(value ?? undefined)).join('');
  };
  const key = keys[1] ?? '';
  const bytes = await writer.store.getRange(key, 0, 1_000_000, soon());
  return { read, key, bytes, store: writer.store, named: { topic: name, segment, object: key } };
}

describe('F18 a damaged object in SeaweedFS', () => {
  test(
    'truncated, with a flipped bit, or missing: an error that names it, and the others still readable',
    async () => {
      const { read, key, bytes, store, named } = await threeObjects('damaged');
      expect(await read(0)).toBe('abcdef');
      const damages = {
        truncated: bytes.subarray(0, bytes.length - 3),
        'truncated before its batch': bytes.subarray(0, 20),
        flipped: bytes.map((byte, at) => (at === bytes.length - 3 ? byte ^ 1 : byte)),
        'another object': new Uint8Array(bytes.length),
      };
      for (const damage of Object.values(damages)) {
        await store.put(key, [damage], soon());
        expect(await read(0)).toBe('ab');
        await expect(read(2)).rejects.toMatchObject({
          kind: 'corrupt',
          code: 'corrupt',
          extra: { ...named, offset: 2, nextOffset: 4 },
        });
        expect(await read(4)).toBe('ef');
      }
      await store.delete(key, soon());
      await expect(read(3)).rejects.toMatchObject({ kind: 'corrupt', extra: { ...named, offset: 3, nextOffset: 4 } });
      await store.put(key, [bytes], soon());
      expect(await read(0)).toBe('abcdef');
    },
    TEST_MS,
  );
});
