import { createFileCompression } from '../../../src/adapters/system/file-compression.ts';
import type { ArchiveDeps } from '../../../src/archive/archive-deps.ts';
import { archiveNext } from '../../../src/archive/archive-segment.ts';
import { indexEntries } from '../../../src/archive/index-entries.ts';
import { createOneAtATime } from '../../../src/archive/one-at-a-time.ts';
import type { RetentionDeps } from '../../../src/archive/retention/retention-deps.ts';
import { sweepRetention } from '../../../src/archive/retention/sweep-retention.ts';
import { truncate, type Truncated, type TruncateTo } from '../../../src/archive/retention/truncate.ts';
import { createMessageSource } from '../../../src/broker/message-source.ts';
import type { Archive, FileRecord } from '../../../src/model/archive.ts';
import { entryCount } from '../../../src/model/head.ts';
import type { SegmentId } from '../../../src/model/ids.ts';
import type { Message } from '../../../src/model/message.ts';
import type { Complete, SweptRetention } from '../../../src/model/sweep-report.ts';
import type { Retention, Topic } from '../../../src/model/topic.ts';
import { readArchive, readFileRecords } from '../../../src/state/archives.ts';
import { readSegmentRecords } from '../../../src/state/segment-records.ts';
import { settleSubmitting } from '../../../src/reference/settle-submitting.ts';
import { firstSegment, message } from '../../publish/requests.ts';
import type { TestBroker, TestWorld } from '../../simulation/test-broker.ts';

// A topic that doesn't keep everything, whoever lets go of it, and what must hold of it at any time.

export const START_MS = 1_800_000_000_000;
export const FILE_AGE_MS = 10_000;
const NEVER: Retention = {};

export async function keepingTopic(world: TestWorld, retention: Retention = NEVER, segments = 1): Promise<Topic> {
  const settings = { partitionKey: 'key', segments, replicas: 2, retention } as const;
  return (await world.run(world.broker().topics.create('t', settings, world.signal))).topic;
}

/** One commit with these messages. */
export async function publish({ world, topic, broker }: Scene, messages: readonly Message[]): Promise<void> {
  await world.run(broker.publisher.publish(topic, { content: { kind: 'messages', messages } }, world.signal));
  await world.run(broker.notes.idle());
}

/** Commits of one message each, so many milliseconds after each other. */
export async function commits(at: Scene, count: number, apartMs = 0): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    await publish(at, [message('a', `${number}`)]);
    await at.world.clock.advance(apartMs);
  }
}

export type Scene = { readonly world: TestWorld; readonly topic: Topic; readonly broker: TestBroker; readonly segment: SegmentId };

export async function sceneOf(world: TestWorld, retention?: Retention, segments = 1): Promise<Scene> {
  const topic = await keepingTopic(world, retention, segments);
  return { world, topic, broker: world.broker(), segment: firstSegment(topic) };
}

export const retentionDeps = ({ deps }: TestBroker): RetentionDeps => ({
  ...deps,
  settleSubmitting: (topic, upTo, signal) => settleSubmitting(deps, topic.id, upTo, signal),
});

export const sweepOf = (broker: TestBroker, options: { readonly dryRun?: boolean; readonly signal?: AbortSignal } = {}) =>
  sweepRetention(retentionDeps(broker), { dryRun: options.dryRun ?? false }, options.signal ?? new AbortController().signal);
export const sweep = ({ world, broker }: Scene, options?: Parameters<typeof sweepOf>[1]): Promise<SweptRetention & Complete> =>
  world.run(sweepOf(broker, options));

export const truncateOf = (broker: TestBroker, topic: Topic, to: TruncateTo, dryRun = false): Promise<Truncated> =>
  truncate(
    { ...retentionDeps(broker), offsetAt: (...args) => broker.consumer.offsetAt(...args) },
    { topic, to, dryRun },
    new AbortController().signal,
  );

/** What it archives is younger than in a real one. */
export const archiverOf = ({ deps, consumer }: TestBroker): ArchiveDeps => ({
  ...deps,
  compression: createFileCompression(),
  messages: createMessageSource(consumer),
  settleSubmitting: (topic, upTo, signal) => settleSubmitting(deps, topic.id, upTo, signal),
  oneAtATime: createOneAtATime(),
  fileBytesMax: 500,
  fileAgeMs: FILE_AGE_MS,
});

/** All that is due. */
export async function archive({ world, topic, broker, segment }: Scene): Promise<void> {
  const deps = archiverOf(broker);
  while ((await world.run(archiveNext(deps, topic, segment, world.signal))).step === 'archived') continue;
}

export type SegmentKept = { readonly archive: Archive; readonly records: readonly FileRecord[]; readonly tail: number };

export async function keptOf(
  { table, signal }: TestWorld,
  topic: Topic,
  segment: SegmentId,
  heads: TestBroker['heads'],
): Promise<SegmentKept> {
  const place = { topic: topic.id, segment };
  const head = await heads.read(topic.id, segment, signal);
  const records: FileRecord[] = [];
  for (let more = true; more;) {
    const read = await readFileRecords({ table }, place, records.length === 0 ? 0 : (records.at(-1)?.last ?? 0) + 1, signal);
    records.push(...read.records);
    ({ more } = read);
  }
  return { archive: await readArchive({ table }, place, signal), records, tail: head?.tail ?? 0 };
}

/** Of each segment: `start/through/tail`. */
export async function placesOf(world: TestWorld, topic: Topic): Promise<readonly string[]> {
  const { heads } = world.broker();
  const segments = await readSegmentRecords(world.table, { topic: topic.id, after: '' }, world.signal);
  const kept = await Promise.all(segments.map(({ segment }) => keptOf(world, topic, segment, heads)));
  return kept.map(({ archive: { start, through }, tail }) => `${start}/${through}/${tail}`);
}

/**
 * R1, of every segment: `start` ≤ `ah` ≤ what is in pages; records one behind the other from 0 on; all between start and `ah` written, and what
 * the item says of the rest; what lies behind is in the index without a hole.
 */
export async function checkKept(world: TestWorld, topic: Topic): Promise<void> {
  const { heads } = world.broker();
  for (const { segment } of await readSegmentRecords(world.table, { topic: topic.id, after: '' }, world.signal)) {
    const head = await heads.read(topic.id, segment, world.signal);
    if (head === undefined) continue;
    const { archive: state, records } = await keptOf(world, topic, segment, heads);
    const fail = (what: string): Error => new Error(`${segment}: ${what}: ${JSON.stringify({ state, records })}`);
    if (!(state.start <= state.through && state.through <= head.spilled)) throw fail(`start, ah and spill count ${head.spilled}`);
    let next = 0;
    for (const record of records) {
      if (record.first !== next || record.last < record.first) throw fail(`a record does not begin at ${next}`);
      next = record.last + 1;
      const isArchived = record.last < state.through;
      if (isArchived && record.state === 'planned') throw fail('archived, though only planned');
      if (isArchived && record.last >= state.start && record.state !== 'written') throw fail('kept without a file');
      if (next === state.through && (record.guard !== state.guard || record.bytes !== state.bytes)) throw fail('not as its last record');
    }
    const whole = records.findLast(({ last }) => last < state.start);
    if (state.goneBytes !== (whole?.bytes ?? 0)) throw fail('other bytes are gone');
    let [end, bytes] = [state.through, state.bytes];
    for await (const entry of indexEntries(world, { head, offset: state.through }, world.signal)) {
      if (entry.offset < state.through) {
        bytes = Number.NaN;
      }
      end = entry.offset + entryCount(entry);
      bytes += entry.runs.reduce((sum, run) => sum + run.bytes, 0);
    }
    if (end !== head.tail) throw fail(`the index ends at ${end}, the segment at ${head.tail}`);
    if (!Number.isNaN(bytes) && bytes !== head.load.bytes) throw fail(`${bytes} bytes are counted of ${head.load.bytes}`);
  }
}
