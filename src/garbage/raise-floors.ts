import { KelpError } from '../model/errors.ts';
import { type Minute, minuteAfter, type TopicId } from '../model/ids.ts';
import { CHANGE_ATTEMPTS_MAX, CHANGE_PARALLEL_MAX } from '../model/limits.ts';
import type { SegmentRange, Topic, TopologyChange } from '../model/topic.ts';
import { raiseFloor } from '../state/raise-floor.ts';
import { inParallel } from '../state/in-parallel.ts';
import { makeChild, readTopic, type TopologyDeps } from '../topology/apply-change.ts';

type Child = { readonly change: TopologyChange; readonly child: SegmentRange };

/**
 * From now on nothing of that minute or an earlier one is committed to any segment of the topic, nor to one that is made later: each takes the
 * highest floor of its parents. Answers the topic as it was then: whatever is of such a minute and was committed, was so to a segment that it has
 * had. Errors `topic-not-found`; `unavailable`: it changes all the time.
 */
export async function raiseFloors(deps: TopologyDeps, id: TopicId, minute: Minute, signal: AbortSignal): Promise<Topic> {
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const topic = await readTopic(deps, id, signal);
    const children = topic.changes.flatMap((change) => change.children.map((child) => ({ change, child })));
    await inParallel(topic.open, CHANGE_PARALLEL_MAX, ({ segment }) => raiseFloor(deps, { topic: id, segment, minute }, signal));
    await inParallel(children, CHANGE_PARALLEL_MAX, (child) => raiseChild(deps, topic, { ...child, minute }, signal));
    // G2: whoever has written an intent meanwhile may have read a parent's floor before.
    const { version } = await readTopic(deps, id, signal);
    if (version === topic.version) return topic;
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast');
}

/** A child of a pending change, whose head may not be there yet. */
async function raiseChild(
  deps: TopologyDeps,
  topic: Topic,
  { change, child, minute }: Child & { readonly minute: Minute },
  signal: AbortSignal,
): Promise<void> {
  const place = { topic: topic.id, segment: child.segment, minute };
  const head = await raiseFloor(deps, place, signal);
  if (head !== undefined) return;
  // G1: whoever makes it may hold a floor that was read before, and be slow.
  await makeChild(deps, topic, { change, child, floor: minuteAfter(minute) }, signal);
  // That one may have been faster.
  await raiseFloor(deps, place, signal);
}
