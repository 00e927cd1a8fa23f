import { KelpError } from '../../model/errors.ts';
import type { SegmentId, TopicId } from '../../model/ids.ts';
import type { PlannedOutcome, TopicPlan } from '../../model/scaling.ts';
import { scalingOf, type Topic } from '../../model/topic.ts';
import { readTopic } from '../../topology/apply-change.ts';
import { carryOn } from '../../topology/carry-on.ts';
import { type ApplyDeps, applyPlan } from './apply-plan.ts';
import { viewAt } from './load-windows.ts';
import { planTopic } from './plan-topic.ts';
import { sampleTopic, type Sampled } from './sample-topic.ts';
import type { ScalingMemory, SegmentOrigin, TopicMemory } from './scaling-memory.ts';
import type { HotKeyTeller } from './tell-hot-keys.ts';

export type ScaleDeps = ApplyDeps & {
  readonly memory: ScalingMemory;
  readonly hotKeys: HotKeyTeller;
  /** How often a topic is looked at. */
  readonly tickMs: number;
};

export type Asked = {
  readonly topic: TopicId;
  /** Changes no segments; what it finds is remembered all the same. */
  readonly dryRun: boolean;
  /** Segments that brokers say are throttled by the table. */
  readonly throttled: ReadonlySet<SegmentId>;
};

export type Look = {
  readonly plan: TopicPlan;
  /** Nothing has come since the last look, and nothing was to be done. */
  readonly isQuiet: boolean;
  /** It expects floods, for which it is to be ready. */
  readonly hasSchedule: boolean;
};

/** One look at one topic, as a whole: its loads, the plan, and what becomes of it. Error `not-found`/`topic-not-found`. */
export async function scaleTopic(deps: ScaleDeps, asked: Asked, signal: AbortSignal): Promise<Look> {
  const topic = await readSettled(deps, asked, signal);
  const known = await deps.memory.read(topic.id, signal);
  const sampled = await sampleTopic(deps, topic, known, signal);
  // Whoever has slept since may see less than another one, who has led and looked meanwhile.
  deps.mustLead();
  const settings = scalingOf(topic.settings);
  const plan = planTopic({
    ...sampled,
    settings,
    open: topic.open,
    throttled: asked.throttled,
    busy: new Set(topic.changes.flatMap(({ parents }) => parents)),
    state: known?.state ?? {},
    now: { nowMs: deps.memory.nowMs(), wallMs: deps.clock.nowMs(), tickMs: deps.tickMs },
  });
  const { changes, hotKeys, held, state } = plan;
  deps.hotKeys.tell(topic, known?.hotKeys ?? [], hotKeys);
  const outcomes = asked.dryRun ? changes : await applyPlan(deps, topic, changes, signal);
  const origins = new Map([...sampled.origins, ...originsOf(deps, sampled, outcomes)]);
  await deps.memory.write(topic.id, { windows: sampled.windows, origins, state, hotKeys }, signal);
  return {
    plan: { topic: topic.id, name: topic.name, segments: topic.open.length, changes: outcomes, hotKeys, held },
    isQuiet: changes.length === 0 && !hasGrown(known, sampled),
    hasSchedule: settings.schedule.length > 0,
  };
}

/** What somebody was stopped in is done first: a segment of a pending change would be left as it is for ever. */
async function readSettled(deps: ScaleDeps, { topic: id, dryRun }: Asked, signal: AbortSignal): Promise<Topic> {
  const read = await readTopic(deps, id, signal);
  const topic = read.changes.length === 0 || dryRun ? read : await carryOn(deps, id, signal);
  if (topic.state !== 'active' || topic.open.length === 0) throw new KelpError('not-found', 'topic-not-found', 'the topic does not exist');
  return topic;
}

/** Of the children of what was made. */
function originsOf({ memory }: ScaleDeps, { windows }: Sampled, outcomes: readonly PlannedOutcome[]): [SegmentId, SegmentOrigin][] {
  const commitsOf = (segment: SegmentId): SegmentOrigin => {
    const known = windows.get(segment);
    const [now] = known === undefined ? [] : viewAt(known, memory.nowMs()).rates;
    return { cameBy: 'split', ...(now === undefined ? {} : { parentCommits: now.commits }) };
  };
  return outcomes.flatMap((change) => {
    const origin: SegmentOrigin = change.kind === 'split' ? commitsOf(change.segment) : { cameBy: 'merge' };
    return (change.children ?? []).map((child): [SegmentId, SegmentOrigin] => [child, origin]);
  });
}

/** Also if a segment is seen for the first time: the next look says what it carries. */
function hasGrown(known: TopicMemory | undefined, { windows }: Sampled): boolean {
  return [...windows].some(([segment, { sample }]) => known?.windows.get(segment)?.sample.load.messages !== sample.load.messages);
}
