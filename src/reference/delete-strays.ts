import { stringField } from '../format/item-fields.ts';
import { uploadsPartition } from '../format/item-key.ts';
import { parseUploadObjectKey, uploadObjectKey, uploadObjectsPrefix } from '../format/object-key.ts';
import { type TopicId, UPLOAD_ID_RANDOM, uploadId, type UploadId } from '../model/ids.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { UPLOAD_MS } from '../model/upload-limits.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import type { RemoveDeps } from './remove-upload.ts';

/** Objects without an upload. */
export type Strays = { objects: number; bytes: number };
export type StraysWanted = { readonly topic: Topic; readonly dryRun: boolean; /** Added to as it goes. */ readonly strays: Strays };

type Found = { readonly upload: UploadId; readonly bytes: number };
type ObjectsPage = { readonly found: readonly Found[]; readonly next: string | undefined };

/**
 * Lists what the topic has in the object store, and deletes what no upload's item names: a PUT that was paused has brought it
 * back, or somebody was stopped. No such object can be needed any more, since items go last, and an id never comes twice. What does
 * not fit one page is gone through from anywhere on, so that what one sweep has no time for is not what the next one has none for.
 */
export async function deleteStrays(deps: RemoveDeps, wanted: StraysWanted, signal: AbortSignal): Promise<void> {
  const next = await sweepPage(deps, wanted, {}, signal);
  if (next === undefined) return;
  const somewhere = startAnywhere(deps, wanted.topic);
  const start = somewhere > next ? somewhere : next;
  await sweepStretch(deps, wanted, { after: start }, signal);
  await sweepStretch(deps, wanted, { after: next, to: start }, signal);
}

/** Somewhere in the topic's life. */
function startAnywhere({ clock, random }: RemoveDeps, { id, createdMs }: Topic): string {
  const spanMs = Math.max(0, clock.nowMs() + UPLOAD_MS - createdMs);
  return uploadObjectKey(id, uploadId(createdMs + random.fraction() * spanMs, random.base36(UPLOAD_ID_RANDOM)));
}

/** Keys behind `after`, up to `to`. */
type Stretch = { readonly after?: string; readonly to?: string };

async function sweepStretch(
  deps: RemoveDeps,
  wanted: StraysWanted,
  stretch: Required<Pick<Stretch, 'after'>> & Stretch,
  signal: AbortSignal,
): Promise<void> {
  let after: string | undefined = stretch.after;
  while (after !== undefined) after = await sweepPage(deps, wanted, { ...stretch, after }, signal);
}

/** Answers where the next page begins; undefined: this was the last one. */
async function sweepPage(
  deps: RemoveDeps,
  { topic, dryRun, strays }: StraysWanted,
  stretch: Stretch,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { found, next } = await listPage(deps, topic.id, stretch, signal);
  // Read after they were listed: what was put in between has had its item before.
  const known = await readIds(deps, topic.id, found, signal);
  const unknown = found.filter(({ upload }) => !known.has(upload));
  await inParallel(unknown, CLEANUP_PARALLEL_MAX, async ({ upload, bytes }) => {
    if (!dryRun) await deps.store.delete(uploadObjectKey(topic.id, upload), signal);
    strays.objects += 1;
    strays.bytes += bytes;
  });
  return next;
}

async function listPage({ store }: RemoveDeps, topic: TopicId, { after, to }: Stretch, signal: AbortSignal): Promise<ObjectsPage> {
  const bounds = { ...(after === undefined ? {} : { after }), limit: CLEANUP_PAGE_MAX };
  const { objects, next } = await store.list(uploadObjectsPrefix(topic), bounds, signal);
  const isWithin = (key: string): boolean => to === undefined || key <= to;
  const found = objects.flatMap(({ key, bytes }): Found[] => {
    const upload = parseUploadObjectKey(key)?.upload;
    // Nobody of ours has made anything else.
    return upload === undefined || !isWithin(key) ? [] : [{ upload, bytes }];
  });
  return { found, next: next !== undefined && isWithin(next) ? next : undefined };
}

async function readIds({ table }: RemoveDeps, topic: TopicId, found: readonly Found[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const [from, to] = [found[0]?.upload, found.at(-1)?.upload];
  const ids = new Set<string>();
  if (from === undefined || to === undefined) return ids;
  for await (const items of queryPages(table, { pk: uploadsPartition(topic), from, to, limit: CLEANUP_PAGE_MAX }, signal)) {
    for (const item of items) ids.add(stringField(item, 'sk'));
  }
  return ids;
}
