import { batchObjectKey, batchObjectPrefix } from '../../../src/format/object-key.ts';
import { collectObjects } from '../../../src/garbage/collect-objects.ts';
import { retirePages } from '../../../src/garbage/retire-pages.ts';
import type { GarbageDeps, TopicWork } from '../../../src/garbage/topic-work.ts';
import { readArchive } from '../../../src/state/archives.ts';
import { minuteOf, type ObjectId } from '../../../src/model/ids.ts';
import type { Item, Key, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { commitBatch } from '../../../src/publish/commit-batch.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, SEGMENT, TOPIC, topicItem, WHOLE } from './broker.ts';
import { objectStore, storedObject } from './objects.ts';
import { commitRequest, outcomeOf, type Publication, resultsOf } from './publisher.ts';
import { unlessUnanswered } from './unless-unanswered.ts';

// Batch objects, which somebody puts before he commits them, and sweeps that delete those that nobody can need.

const MINUTE_MS = 60_000;
/** Of all objects here. */
const MINUTE = minuteOf(MINUTE_MS);
/** It is over. */
const NOW_MS = 3 * MINUTE_MS;
/** Long after all that is archived here. */
const LATE_MS = 100 * 86_400_000;
/** By this clock it has not begun. */
export const SLOW_MS = MINUTE_MS;
const PAGE_MAX = 10;

/** Names of batch objects have 16 characters. */
export const batchObject = (message: string): string => `o${message}`.padEnd(16, '0');
export const batchObjectItem = (message: string): readonly [Key, Item] => storedObject(keyOf(batchObject(message)));
/** Of the minute before, of which those are that scopes begin with. */
export const oldObjectItem = (message: string): readonly [Key, Item] =>
  storedObject(batchObjectKey(TOPIC, minuteOf(0), batchObject(message) as ObjectId));
const keyOf = (object: string): string => batchObjectKey(TOPIC, MINUTE, object as ObjectId);

/** A broker that puts the object and then commits it, however long that takes. */
export function writer(publication: Omit<Publication, 'object' | 'members'> & { readonly message: string }): Process {
  const { message, ...broker } = publication;
  const own: Publication = { ...broker, object: batchObject(message), members: [{ message }] };
  const put: Phase = async (table, state) => {
    const stored = objectStore(table).put(keyOf(own.object), [], NEVER_ABORTED);
    return { ...state, put: (await unlessUnanswered(stored.then(() => true))) ?? false };
  };
  const commit: Phase = async (table, state) => {
    // It would put another one.
    if (state['put'] !== true) return state;
    const request = { ...commitRequest(own), object: { minute: MINUTE, id: own.object as ObjectId } };
    const outcome = await outcomeOf(commitBatch(brokerDeps(table, own, own.known), request, NEVER_ABORTED));
    return { ...state, results: resultsOf(own, outcome) };
  };
  return { name: own.name, start: {}, phases: [put, commit] };
}

/** The same once it has put its object, which a scope begins with. */
export function committer(publication: Parameters<typeof writer>[0]): Process {
  const { phases, ...process } = writer(publication);
  return { ...process, start: { put: true }, phases: phases.slice(1) };
}

/** A PUT of the same object that was on its way for long. */
export function latePut(name: string, message: string): Process {
  const put: Phase = async (table, state) => {
    await unlessUnanswered(objectStore(table).put(keyOf(batchObject(message)), [], NEVER_ABORTED));
    return { ...state, put: true };
  };
  return { name, start: {}, phases: [put] };
}

function collecting(table: MetadataTable, nowMs: number): { readonly deps: GarbageDeps; readonly work: TopicWork } {
  const counts = { neverCommitted: 0, archived: 0, files: 0, uploads: 0, pages: 0, lines: 0, requests: 0, bytes: 0, failed: 0 };
  return {
    deps: { ...brokerDeps(table, { instance: 'w', nowMs }), store: objectStore(table) },
    work: { topic: topicItem([WHOLE]), dryRun: false, beforeMs: nowMs, archives: new Map(), counts },
  };
}

/** A sweep of the topic's batch objects. Answers whether all of it was done. */
async function collectOnce(table: MetadataTable, nowMs = NOW_MS): Promise<boolean> {
  const { deps, work } = collecting(table, nowMs);
  return (await unlessUnanswered(collectObjects(deps, work, NEVER_ABORTED))) === true && work.counts.failed === 0;
}

/** A sweep of what was archived or dropped long ago: `all` of it, or only its pages. */
export function oldCollector(name: string, { all }: { readonly all: boolean }): Process {
  const sweep: Phase = async (table, state) => {
    const { deps, work } = collecting(table, LATE_MS);
    const collect = async () => {
      const archive = await readArchive(deps, { topic: TOPIC, segment: SEGMENT }, NEVER_ABORTED);
      const own = { ...work, archives: new Map([[SEGMENT, archive]]) };
      if (all) await collectObjects(deps, own, NEVER_ABORTED);
      else await retirePages(deps, own, { through: new Map(), objects: new Set() }, NEVER_ABORTED);
    };
    await unlessUnanswered(collect());
    return { ...state, done: true };
  };
  return { name, start: {}, phases: [sweep] };
}

export function collector(name: string, nowMs?: number): Process {
  const sweep: Phase = async (table, state) => {
    await collectOnce(table, nowMs);
    return state;
  };
  return { name, start: {}, phases: [sweep] };
}

/** Two sweeps, whatever others were stopped in: then only what is in the log has objects. */
export function lastCollector(name: string, mayBegin: NonNullable<Process['mayBegin']>): Process {
  const last: Phase = async (table, state) => {
    const swept = (await collectOnce(table)) && (await collectOnce(table));
    const left = swept ? await unlessUnanswered(leftBehind(table)) : undefined;
    return { ...state, ...(left === undefined ? {} : { faults: [left] }) };
  };
  return { name, start: {}, phases: [last], mayBegin };
}

async function leftBehind(table: MetadataTable): Promise<string | undefined> {
  const { objects } = await objectStore(table).list(batchObjectPrefix(TOPIC), { limit: PAGE_MAX }, NEVER_ABORTED);
  const names = await Promise.all(['s0000000', 's0000001'].map((segment) => namedBy(table, segment)));
  const stray = objects.find(({ key }) => !names.flat().includes(key));
  return stray === undefined ? undefined : `left-behind: ${stray.key} is there after two sweeps`;
}

async function namedBy(table: MetadataTable, segment: string): Promise<string[]> {
  const head = await table.get({ pk: `h#${TOPIC}#${segment}`, sk: 'head' }, NEVER_ABORTED);
  const { items } = await table.query({ pk: `p#${TOPIC}#${segment}`, from: 'p', limit: PAGE_MAX }, NEVER_ABORTED);
  const entries = [...Object.values((head?.['m'] ?? {}) as Item), ...items.flatMap((page) => page['entries'] as readonly Item[])];
  return entries.map((entry) => `${batchObjectPrefix(TOPIC)}${String((entry as Item)['o'])}`);
}
