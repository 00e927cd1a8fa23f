import type { Archive } from '../model/archive.ts';
import type { SegmentId } from '../model/ids.ts';
import { GARBAGE_SEGMENTS_PARALLEL_MAX } from '../model/garbage-limits.ts';
import { segmentsOf, type Topic } from '../model/topic.ts';
import { readArchive } from '../state/archives.ts';
import { inParallel } from '../state/in-parallel.ts';
import { collectObjects } from './collect-objects.ts';
import { deleteFiles } from './delete-files.ts';
import { deleteLines } from './delete-lines.ts';
import { deleteRequests } from './delete-requests.ts';
import { deleteUploads } from './delete-uploads.ts';
import { guarded } from './guarded.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/**
 * What nobody refers to any more of a topic that is there; what takes longest comes last. What goes wrong with one kind is counted, and left to
 * the next sweep. Answers whether all of it was looked at.
 */
export async function collectTopic(
  deps: GarbageDeps,
  { topic, ...sweep }: Omit<TopicWork, 'archives'>,
  signal: AbortSignal,
): Promise<boolean> {
  const work: TopicWork = { topic, ...sweep, archives: await readArchives(deps, topic, signal) };
  const complete: boolean[] = [];
  const kinds: Readonly<Record<string, () => Promise<void>>> = {
    requests: async () => void complete.push(await deleteRequests(deps, work, signal)),
    lines: () => deleteLines(deps, work, signal),
    uploads: () => deleteUploads(deps, work, signal),
    files: () => deleteFiles(deps, work, signal),
    objects: async () => void complete.push(await collectObjects(deps, work, signal)),
  };
  for (const [kind, collect] of Object.entries(kinds)) await guarded(deps, { work, kind }, collect, signal);
  return complete.every(Boolean);
}

async function readArchives(deps: GarbageDeps, topic: Topic, signal: AbortSignal): Promise<ReadonlyMap<SegmentId, Archive>> {
  const archives = new Map<SegmentId, Archive>();
  await inParallel(segmentsOf(topic), GARBAGE_SEGMENTS_PARALLEL_MAX, async (segment) => {
    const archive = await readArchive(deps, { topic: topic.id, segment }, signal);
    if (archive.through > 0) archives.set(segment, archive);
  });
  return archives;
}
