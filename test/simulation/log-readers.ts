import { startBeyond } from '../../src/consume/archived-messages.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { BatchSlice } from '../../src/consume/page.ts';
import type { SegmentRange } from '../../src/model/topic.ts';
import type { Seen } from '../checkers/history.ts';
import type { Life } from './life.ts';
import { ask, type Client, rest, think } from './log-writers.ts';

const WAIT_MS_MAX = 1_000;
const PAGES_MAX = 100_000;
const LATE_MS_MAX = 10_000;

async function seen({ broker }: Life, slices: readonly BatchSlice[]): Promise<Seen[]> {
  const decoder = new TextDecoder();
  const decoded = await Promise.all(slices.map(async (slice) => ({ slice, messages: await broker.consumer.decode(slice) })));
  return decoded.flatMap(({ slice, messages }) =>
    messages.map((message) => {
      const id = decoder.decode(message.value ?? undefined);
      return { segment: slice.segment, offset: message.offset, id, key: decoder.decode(message.key), digest: id };
    }),
  );
}

/** Undefined where the broker died or failed in a way that may pass. */
async function tryRead<T>(client: Client, read: (life: Life, signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(client, read);
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    // Whoever resolves a name carries on a change of its topic, and may lose the answer of a write.
    if (!isTimeout && !(error instanceof KelpError && ['unavailable', 'throttled', 'indefinite'].includes(error.kind))) throw error;
    return undefined;
  }
}

/** Follows segments to their ends and on into their successors, each by its offsets. */
export async function segmentReader(client: Client): Promise<void> {
  const { run, random, name } = client;
  const at = new Map<SegmentId, number>();
  let cuts = 0;
  const cut = (segment: SegmentId, start: number): void => {
    at.set(segment, start);
    cuts += 1;
  };
  while (!run.isOver()) {
    const page = await tryRead(client, async (life, signal) => {
      const topic = await life.broker.topics.resolve(run.topicName, { fresh: false }, signal);
      begin(at, topic.open);
      const segments = [...at.keys()];
      const segment = segments[random.integer(segments.length)];
      if (segment === undefined) return undefined;
      const bounds = { messagesMax: 1 + random.integer(20), bytesMax: 1_000_000, waitMs: random.integer(WAIT_MS_MAX) };
      const from = { offset: at.get(segment) ?? 0 };
      const read = await unlessCut(life.broker.consumer.readSegment(topic, { segment, from, ...bounds }, signal), (start) =>
        cut(segment, start),
      );
      return read === undefined ? undefined : { segment, read, messages: await seen(life, read.slices) };
    });
    if (page !== undefined) {
      at.set(page.segment, page.read.nextOffset);
      // Behind a cut it is another reader.
      run.recorder.see(`${name} ${page.segment}${cuts === 0 ? '' : ` after ${cuts} cuts`}`, page.messages);
      begin(at, page.read.successors);
    }
    await think(client);
  }
}

async function unlessCut<T>(read: Promise<T>, cut: (start: number) => void): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    const start = startBeyond(error);
    if (start === undefined) throw error;
    cut(start);
    return undefined;
  }
}

function begin(at: Map<SegmentId, number>, ranges: readonly SegmentRange[]): void {
  for (const { segment } of ranges) if (!at.has(segment)) at.set(segment, 0);
}

/** Reads the topic by its cursor from the beginning, at last to the end. */
export const topicReader = (client: Client): Promise<void> => readTopic(client, 'earliest');

/** Comes when much has happened already, and reads what comes from then on. */
export async function lateReader(client: Client): Promise<void> {
  await rest(client, LATE_MS_MAX);
  await readTopic(client, 'latest');
}

async function readTopic(client: Client, from: 'earliest' | 'latest'): Promise<void> {
  const { run, random, name } = client;
  let cursor: string = from;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    // What is asked after the end, and is answered with nothing, was everything.
    const isLast = run.isOver();
    const page = await tryRead(client, async (life, signal) => {
      const topic = await life.broker.topics.resolve(run.topicName, { fresh: isLast }, signal);
      const bounds = { messagesMax: 1 + random.integer(50), bytesMax: 1_000_000, waitMs: isLast ? 0 : random.integer(WAIT_MS_MAX) };
      const read = await life.broker.consumer.readTopic(topic, { cursor, ...bounds }, signal);
      return { cursor: read.cursor, messages: await seen(life, read.slices) };
    });
    if (page !== undefined) {
      if (cursor === 'latest') run.recorder.began(name);
      ({ cursor } = page);
      run.recorder.see(name, page.messages);
      if (isLast && run.isQuiet() && page.messages.length === 0) return from === 'earliest' ? run.recorder.complete(name) : undefined;
    }
    await think(client);
  }
  throw new Error(`${name} never comes to the end`);
}
