import { canonical } from '../model/engine/intern.ts';
import { readSegmentRecords } from '../../src/state/segment-records.ts';
import { readArchive } from '../../src/state/archives.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { StoredMessage } from '../../src/model/message.ts';
import type { Topic } from '../../src/model/topic.ts';
import { checkHistory } from '../checkers/check-history.ts';
import type { Publish, Seen } from '../checkers/history.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TestBroker, TestWorld } from './test-broker.ts';
import type { Recorder } from './recorder.ts';

// What a reader without faults finds at some moment of the day, held against what clients were told by then.

type SegmentRead = {
  readonly segment: SegmentId;
  readonly start: number;
  readonly tail: number;
  readonly messages: readonly StoredMessage[];
};

export type Auditor = {
  /** Looks at all that is kept. */
  audit(): Promise<void>;
  readonly findings: readonly string[];
  counts(): { readonly audits: number; readonly messages: number; readonly fromFiles: number };
};

const MESSAGES_MAX = 1_000;
const FINDINGS_MAX = 20;
const decoder = new TextDecoder();

export function createAuditor(
  world: TestWorld,
  { topic, recorder, random }: { topic: Topic; recorder: Recorder; random: SeededRandom },
): Auditor {
  const findings: string[] = [];
  const counts = { audits: 0, messages: 0, fromFiles: 0 };
  /** Each message as it was read first, by its place. */
  const known = new Map<string, string>();
  const starts = new Map<string, number>();
  const tell = (what: string): void =>
    void (findings.length < FINDINGS_MAX && findings.push(`${new Date(world.clock.nowMs()).toISOString()} ${what}`));

  function compare(place: string, { offset, partition, key, value, headers, timestampMs }: StoredMessage): void {
    const text = canonical({ offset, partition, key, value, headers, timestampMs });
    const before = known.get(place);
    if (before !== undefined && before !== text) tell(`${place} was ${before}, and is ${text}`);
    known.set(place, text);
  }

  async function audit(): Promise<void> {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof KelpError)) throw error;
      tell(`${error.code}: ${error.message} ${JSON.stringify(error.extra)}`);
    }
  }

  async function look(): Promise<void> {
    // One that has seen nothing: each audit finds its own way.
    const broker = world.broker();
    const told = recorder.history().publishes;
    const records = await readSegmentRecords(world.table, { topic: topic.id, after: '' }, world.signal);
    const reads: SegmentRead[] = [];
    for (const { segment } of records) {
      const read = await readKept(world, broker, topic, segment);
      if (read === undefined) continue;
      reads.push(read);
      const { through } = await readArchive(world, { topic: topic.id, segment }, world.signal);
      counts.fromFiles += read.messages.filter(({ offset }) => offset < through).length;
      if (read.start < (starts.get(segment) ?? 0)) tell(`${segment} begins at ${read.start}, and began at ${starts.get(segment)}`);
      starts.set(segment, read.start);
      for (const message of read.messages) compare(`${segment}:${message.offset}`, message);
    }
    counts.audits += 1;
    counts.messages += reads.reduce((sum, { messages }) => sum + messages.length, 0);
    const seen = reads.flatMap(({ segment, messages }) => messages.map((message) => seenOf(segment, message)));
    for (const { fault, what } of checkHistory({
      publishes: recorder.history().publishes,
      reads: [{ reader: 'audit', complete: false, messages: seen }],
    }))
      tell(`${fault}: ${what}`);
    for (const lost of missing(told, reads)) tell(`lost: ${lost}`);
    await lookByTime(broker, reads);
  }

  /** From a time on a segment is read where its first message of that time or a later one is. */
  async function lookByTime(broker: TestBroker, reads: readonly SegmentRead[]): Promise<void> {
    const { segment, messages = [] } = reads[random.integer(reads.length)] ?? {};
    const sought = messages[random.integer(messages.length)];
    if (segment === undefined || sought === undefined) return;
    const { timestampMs } = sought;
    const page = await broker.consumer.readSegment(
      topic,
      { segment, from: { timestampMs }, messagesMax: 1, bytesMax: 1, waitMs: 0 },
      world.signal,
    );
    const first = messages.find((message) => message.timestampMs >= timestampMs);
    if (page.offset !== first?.offset) tell(`${segment} from ${timestampMs} on begins at ${page.offset}, not ${first?.offset}`);
  }

  return { audit, findings, counts: () => counts };
}

/** From where the segment begins to its end. Undefined: it has no head yet. */
async function readKept(world: TestWorld, broker: TestBroker, topic: Topic, segment: SegmentId): Promise<SegmentRead | undefined> {
  const head = await broker.heads.read(topic.id, segment, world.signal);
  if (head === undefined) return undefined;
  const { consumer } = broker;
  for (;;) {
    const messages: StoredMessage[] = [];
    const start = (await readArchive(world, { topic: topic.id, segment }, world.signal)).start;
    let next = start;
    while (next < head.tail) {
      const bounds = { messagesMax: MESSAGES_MAX, bytesMax: 1_000_000, waitMs: 0 };
      const page = await consumer.readSegment(topic, { segment, from: { offset: next }, ...bounds }, world.signal);
      for (const slice of page.slices) messages.push(...(await consumer.decode(slice)));
      next = page.nextOffset;
    }
    const after = (await readArchive(world, { topic: topic.id, segment }, world.signal)).start;
    if (after === start) return { segment, start, tail: head.tail, messages };
  }
}

function seenOf(segment: SegmentId, { offset, key, value }: StoredMessage): Seen {
  const id = decoder.decode(value ?? undefined);
  return { segment, offset, key: decoder.decode(key), id, digest: id };
}

/** Acknowledged before, kept, and not there; or an offset that is. */
function missing(told: readonly Publish[], reads: readonly SegmentRead[]): string[] {
  const bySegment = new Map(
    reads.map((read) => [String(read.segment), new Map(read.messages.map((message) => [message.offset, message]))]),
  );
  const starts = new Map(reads.map(({ segment, start }) => [String(segment), start]));
  const lost = told.flatMap(({ id, outcome, address }) => {
    if (outcome !== 'acked' || address === undefined || address.offset < (starts.get(address.segment) ?? 0)) return [];
    const found = bySegment.get(address.segment)?.get(address.offset);
    return found !== undefined && decoder.decode(found.value ?? undefined) === id ? [] : [`${id} at ${address.segment}:${address.offset}`];
  });
  const holes = reads.flatMap(({ segment, start, tail, messages }) =>
    messages.length === tail - start ? [] : [`${segment} has ${messages.length} messages from ${start} to ${tail}`],
  );
  return [...lost, ...holes];
}
