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
type Found = { readonly upload: UploadId; readonly bytes: number };

/**
 * Lists what the topic has in the object store, and deletes what no upload's item names: a PUT that was paused has brought it
 * back, or somebody was stopped. No such object can be needed any more, since items go last, and an id never comes twice. Adds
 * to `strays` as it goes. Begins anywhere, so that what one sweep has no time for is not what the next one has none for.
 */
export async function deleteStrays(
  deps: RemoveDeps,
  { topic, dryRun, strays }: { readonly topic: Topic; readonly dryRun: boolean; readonly strays: Strays },
  signal: AbortSignal,
): Promise<void> {
  const start = startAnywhere(deps, topic);
  for (const part of [{ from: start }, { to: start }]) {
    for await (const found of listObjects(deps, topic.id, part, signal)) {
      // Read after they were listed: what was put in between has had its item before.
      const known = await readIds(deps, topic.id, found, signal);
      await inParallel(
        found.filter(({ upload }) => !known.has(upload)),
        CLEANUP_PARALLEL_MAX,
        async ({ upload, bytes }) => {
          if (!dryRun) await deps.store.delete(uploadObjectKey(topic.id, upload), signal);
          strays.objects += 1;
          strays.bytes += bytes;
        },
      );
    }
  }
}

function startAnywhere({ clock, random }: RemoveDeps, topic: Topic): UploadId {
  const spanMs = Math.max(0, clock.nowMs() + UPLOAD_MS - topic.createdMs);
  return uploadId(topic.createdMs + random.fraction() * spanMs, random.base36(UPLOAD_ID_RANDOM));
}

/** From behind `from` on, or up to `to`. */
async function* listObjects(
  { store }: RemoveDeps,
  topic: TopicId,
  { from, to }: { readonly from?: UploadId; readonly to?: UploadId },
  signal: AbortSignal,
): AsyncGenerator<readonly Found[], void, undefined> {
  for (let after = from === undefined ? undefined : uploadObjectKey(topic, from); ;) {
    const page = await store.list(
      uploadObjectsPrefix(topic),
      { ...(after === undefined ? {} : { after }), limit: CLEANUP_PAGE_MAX },
      signal,
    );
    const found = page.objects.flatMap(({ key, bytes }): Found[] => {
      const upload = parseUploadObjectKey(key)?.upload;
      // Nobody of ours has made anything else.
      return upload === undefined || (to !== undefined && upload > to) ? [] : [{ upload, bytes }];
    });
    if (found.length > 0) yield found;
    if (page.next === undefined || (to !== undefined && page.next > uploadObjectKey(topic, to))) return;
    after = page.next;
  }
}

async function readIds({ table }: RemoveDeps, topic: TopicId, found: readonly Found[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const [from, to] = [found[0]?.upload ?? '', found.at(-1)?.upload ?? ''];
  const ids = new Set<string>();
  for await (const items of queryPages(table, { pk: uploadsPartition(topic), from, to, limit: CLEANUP_PAGE_MAX }, signal)) {
    for (const item of items) ids.add(stringField(item, 'sk'));
  }
  return ids;
}
