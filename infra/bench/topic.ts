import { z } from 'zod';
import { createKelpClient, type TopicSettings } from '../demo/kelp-client.ts';
import type { Bench } from './measure.ts';

const Segments = z.object({
  segments: z.array(
    z.object({
      segment: z.string(),
      lo: z.int(),
      hi: z.int(),
      tail: z.int(),
      openedMs: z.int().optional(),
      endedMs: z.int().optional(),
    }),
  ),
});
export type Segment = z.infer<typeof Segments>['segments'][number];

const Files = z.object({ files: z.array(z.object({ rows: z.int(), bytes: z.int() })), next: z.string().optional() });
export type ArchivedFile = z.infer<typeof Files>['files'][number];

const Scaling = z.object({
  events: z.array(
    z.object({ kind: z.enum(['split', 'merge']), children: z.array(z.string()), reason: z.object({ why: z.string() }).optional() }),
  ),
});
/** `reason`: the planner's; absent: by hand. */
export type ScaleEvent = z.infer<typeof Scaling>['events'][number];

export type Topic = {
  readonly url: string;
  readonly messagesUrl: string;
  readonly messageUrl: string;
  /** As they are now, in order of partitions; sealed ones too. */
  segments(): Promise<Segment[]>;
  /** Of old messages, with rows. */
  files(): Promise<ArchivedFile[]>;
  /** What was split and merged, newest first. */
  events(): Promise<ScaleEvent[]>;
};

const REQUEST_MS_MAX = 30_000;

/**
 * A new topic of that many equal segments, which stay as they are: figures of what splits meanwhile could not be compared. Names
 * are unique in a run.
 */
export function createTopic(bench: Bench, name: string, segments: number): Promise<Topic> {
  return createTopicOf(bench, name, { segments, scaling: { minSegments: segments, maxSegments: segments } });
}

/** One that is as these settings say. */
export async function createTopicOf({ stack: { url, token }, signal }: Bench, name: string, settings: TopicSettings): Promise<Topic> {
  await createKelpClient({ url, token, topic: name, signal }).createTopic(settings);
  return topicOf({ url, token }, name, signal);
}

/** One that is there. */
export function topicOf({ url, token }: { readonly url: string; readonly token: string }, name: string, signal: AbortSignal): Topic {
  const topicUrl = `${url}/v1/topics/${name}`;
  async function get(path: string): Promise<unknown> {
    const bounds = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
    const answer = await fetch(`${topicUrl}${path}`, { headers: { authorization: `Bearer ${token}` }, signal: bounds });
    return await answer.json();
  }
  return {
    url: topicUrl,
    messagesUrl: `${topicUrl}/messages`,
    messageUrl: `${topicUrl}/message`,
    segments: async () => Segments.parse(await get('/segments')).segments.toSorted((a, b) => a.lo - b.lo),
    async files() {
      const found: ArchivedFile[] = [];
      for (let after: string | undefined = ''; after !== undefined;) {
        const { files, next } = Files.parse(await get(`/files?limit=1000${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`));
        found.push(...files);
        after = next;
      }
      return found;
    },
    events: async () => Scaling.parse(await get('/scaling')).events,
  };
}
