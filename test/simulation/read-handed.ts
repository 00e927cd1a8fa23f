import type { Topic } from '../../src/model/topic.ts';
import type { Handed } from '../topology/check-lineage.ts';
import type { TestBroker, TestWorld } from './test-broker.ts';

export type Handing = { readonly handed: readonly Handed[]; readonly cursor: string };

const decoder = new TextDecoder();

/** What a reader is handed from a cursor on, page by page, until nothing comes; or until so many have come. */
export async function readHanded(
  world: Pick<TestWorld, 'run' | 'signal'>,
  { consumer }: Pick<TestBroker, 'consumer'>,
  { topic, from = 'earliest', limit, count = Infinity }: { topic: Topic; from?: string; limit: number; count?: number },
): Promise<Handing> {
  const handed: Handed[] = [];
  let cursor = from;
  for (;;) {
    const read = { cursor, messagesMax: Math.min(limit, count - handed.length), bytesMax: 1_000_000, waitMs: 0 };
    const page = await world.run(consumer.readTopic(topic, read, world.signal));
    ({ cursor } = page);
    for (const slice of page.slices) {
      for (const { offset, key, value } of await consumer.decode(slice)) {
        handed.push({ segment: slice.segment, offset, key: decoder.decode(key), value: decoder.decode(value ?? undefined) });
      }
    }
    if (page.slices.length === 0 || handed.length >= count) return { handed, cursor };
  }
}
