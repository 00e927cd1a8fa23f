import { justAfter, uploadsPartition } from '../../../src/format/item-key.ts';
import { uploadObjectKey } from '../../../src/format/object-key.ts';
import type { UploadId } from '../../../src/model/ids.ts';
import type { Item, Key, MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';
import { sweepTopic } from '../../../src/reference/sweep-topic.ts';
import { isTransient } from '../../../src/state/ask-again.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, TOPIC, topicItem, WHOLE } from './broker.ts';

// Objects stand in the shared table as well, so that what is done to them may be lost, late or doubled like any other write.

const OBJECTS = `o#${TOPIC}`;
const PAGE_MAX = 10;

export const objectItem = (upload: UploadId): readonly [Key, Item] => [{ pk: OBJECTS, sk: uploadObjectKey(TOPIC, upload) }, { bytes: 1 }];

/** What a client does by the URL that it has, however long that was ago. */
export function uploader(name: string, upload: UploadId): Process {
  const [key, item] = objectItem(upload);
  const put: Phase = async (table, state) => {
    await unlessUnanswered(table.put(key, item, [], NEVER_ABORTED));
    return { ...state, done: true };
  };
  return { name, start: {}, phases: [put] };
}

function objectStore(table: MetadataTable): ObjectStore {
  const at = (sk: string): Key => ({ pk: OBJECTS, sk });
  return {
    put: () => Promise.reject(new Error('a sweep puts no objects')),
    getRange: () => Promise.reject(new Error('a sweep of values reads no objects')),
    async head(key, signal) {
      const item = await table.get(at(key), signal);
      return item === undefined ? undefined : { bytes: Number(item['bytes']), sha256: undefined };
    },
    async list(_prefix, { after }, signal) {
      const from = after === undefined ? {} : { from: justAfter(after) };
      const { items } = await table.query({ pk: OBJECTS, ...from, limit: PAGE_MAX }, signal);
      return { objects: items.map((item) => ({ key: String(item['sk']), bytes: Number(item['bytes']) })) };
    },
    delete: async (key, signal) => void (await table.delete(at(key), [], signal)),
  };
}

/** A sweep of the topic's uploads. Answers whether all of it was done. */
async function sweepOnce(table: MetadataTable, nowMs: number): Promise<boolean> {
  const counts = { examined: 0, expired: 0, submitted: 0, staged: 0, orphans: 0, bytes: 0, failed: 0 };
  const deps = { ...brokerDeps(table, { instance: 'w', nowMs }), store: objectStore(table) };
  const sweep = { topic: topicItem([WHOLE]), dryRun: false, counts, foundUnchecked: () => {} };
  const swept = await unlessUnanswered(sweepTopic(deps, sweep, NEVER_ABORTED).then(() => true));
  return swept === true && counts.failed === 0;
}

/** Some sweeps, by a clock at which others may be at work. */
export function topicSweeper(name: string, { rounds, nowMs }: { readonly rounds: number; readonly nowMs: number }): Process {
  const round: Phase = async (table, state) => {
    await sweepOnce(table, nowMs);
    return state;
  };
  return { name, start: {}, phases: Array.from({ length: rounds }, () => round) };
}

/** Two sweeps, whatever others were stopped in; nothing may be left that nobody needs, and nothing be gone that somebody does. */
export function lastSweeper(name: string, { nowMs }: { readonly nowMs: number }, mayBegin: Process['mayBegin']): Process {
  const last: Phase = async (table, state) => {
    const swept = (await sweepOnce(table, nowMs)) && (await sweepOnce(table, nowMs));
    const left = swept ? await unlessUnanswered(leftBehind(table)) : undefined;
    return { ...state, ...(left === undefined ? {} : { faults: [left] }) };
  };
  return { name, start: {}, phases: [last], ...(mayBegin === undefined ? {} : { mayBegin }) };
}

async function leftBehind(table: MetadataTable): Promise<string | undefined> {
  const uploads = await table.query({ pk: uploadsPartition(TOPIC), from: 'u', limit: PAGE_MAX }, NEVER_ABORTED);
  const objects = await table.query({ pk: OBJECTS, limit: PAGE_MAX }, NEVER_ABORTED);
  const states = uploads.items.map((item) => String(item['state']));
  const undone = states.find((state) => state !== 'submitted');
  if (undone !== undefined) return `left-behind: an upload is ${undone} after two sweeps`;
  if (objects.items.length > states.length) return 'left-behind: an object of no upload is there after two sweeps';
  return undefined;
}

/** Undefined: somebody did not answer; the next sweep looks again. */
async function unlessUnanswered<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isTransient(error)) throw error;
    return undefined;
  }
}
