import { uploadsPartition } from '../../../src/format/item-key.ts';
import { uploadObjectKey, uploadObjectsPrefix } from '../../../src/format/object-key.ts';
import type { UploadId } from '../../../src/model/ids.ts';
import type { Item, Key, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { sweepTopic } from '../../../src/reference/sweep-topic.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, TOPIC, topicItem, WHOLE } from './broker.ts';
import { objectStore, storedObject } from './objects.ts';
import { unlessUnanswered } from './unless-unanswered.ts';

const PAGE_MAX = 10;

export const objectItem = (upload: UploadId): readonly [Key, Item] => storedObject(uploadObjectKey(TOPIC, upload));

/** What a client does by the URL that it has, however long that was ago. */
export function uploader(name: string, upload: UploadId): Process {
  const [key, item] = objectItem(upload);
  const put: Phase = async (table, state) => {
    await unlessUnanswered(table.put(key, item, [], NEVER_ABORTED));
    return { ...state, done: true };
  };
  return { name, start: {}, phases: [put] };
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

/**
 * Two sweeps, whatever others were stopped in; nothing may be left that nobody needs, and nothing be gone that somebody does. `isCalm`: every
 * request is answered, so the second one does all.
 */
export function lastSweeper(
  name: string,
  { nowMs, isCalm }: { readonly nowMs: number; readonly isCalm: boolean },
  mayBegin?: Process['mayBegin'],
): Process {
  const last: Phase = async (table, state) => {
    const first = await sweepOnce(table, nowMs);
    const swept = (first || isCalm) && (await sweepOnce(table, nowMs));
    if (isCalm && !swept) return { ...state, faults: ['left-behind: a sweep has something that it can not do'] };
    const left = swept ? await unlessUnanswered(leftBehind(table)) : undefined;
    return { ...state, ...(left === undefined ? {} : { faults: [left] }) };
  };
  return { name, start: {}, phases: [last], ...(mayBegin === undefined ? {} : { mayBegin }) };
}

async function leftBehind(table: MetadataTable): Promise<string | undefined> {
  const uploads = await table.query({ pk: uploadsPartition(TOPIC), from: 'u', limit: PAGE_MAX }, NEVER_ABORTED);
  const { objects } = await objectStore(table).list(uploadObjectsPrefix(TOPIC), { limit: PAGE_MAX }, NEVER_ABORTED);
  const states = uploads.items.map((item) => String(item['state']));
  const undone = states.find((state) => state !== 'submitted');
  if (undone !== undefined) return `left-behind: an upload is ${undone} after two sweeps`;
  if (objects.length > states.length) return 'left-behind: an object of no upload is there after two sweeps';
  return undefined;
}
