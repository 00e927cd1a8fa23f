import { z } from 'zod';
import { createKelpClient } from '../demo/kelp-client.ts';
import type { Bench } from './measure.ts';

const Segments = z.object({ segments: z.array(z.object({ segment: z.string(), lo: z.int(), hi: z.int(), tail: z.int() })) });
export type Segment = z.infer<typeof Segments>['segments'][number];

export type Topic = {
  readonly url: string;
  readonly messagesUrl: string;
  readonly messageUrl: string;
  /** As they are now, in order of partitions. */
  segments(): Promise<Segment[]>;
};

const REQUEST_MS_MAX = 30_000;

/**
 * A new topic of that many equal segments, which stay as they are: figures of what splits meanwhile could not be compared. Names
 * are unique in a run.
 */
export async function createTopic({ stack: { url, token }, signal }: Bench, name: string, segments: number): Promise<Topic> {
  await createKelpClient({ url, token, topic: name, signal }).createTopic({
    segments,
    scaling: { minSegments: segments, maxSegments: segments },
  });
  const topicUrl = `${url}/v1/topics/${name}`;
  return {
    url: topicUrl,
    messagesUrl: `${topicUrl}/messages`,
    messageUrl: `${topicUrl}/message`,
    async segments() {
      const bounds = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
      const answer = await fetch(`${topicUrl}/segments`, { headers: { authorization: `Bearer ${token}` }, signal: bounds });
      const found = Segments.parse(await answer.json()).segments;
      return found.toSorted((a, b) => a.lo - b.lo);
    },
  };
}
