import type { Range, SegmentRange } from '../../../src/model/topic.ts';
import type { Reply } from '../../clients/call.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { covers } from '../../topology/topology-watch.ts';
import { askChange, type Change, successorsOf } from './fleet-api.ts';
import type { Fleet } from './fleet.ts';

export type ByHand = {
  readonly fleet: Fleet;
  readonly topic: string;
  readonly random: SeededRandom;
  /** What is open, as last written. */
  readonly open: () => readonly SegmentRange[];
  /** Resolves when it is time for the next change. */
  readonly next: () => Promise<void>;
};

/** How often each thing came of a change: `split`, `merge`, a code, or `unknown`. */
export type Outcomes = Map<string, number>;

const OPEN_MIN = 3;
const OPEN_MAX = 10;
const TIMEOUT_MS = 5_000;
/** What may be said of a change though it is a good one: somebody was faster, or nobody leads for a while. */
const EXPECTED = new Set([
  'segment-sealed',
  'not-splittable',
  'not-neighbours',
  'unavailable',
  'no-brokers',
  'throttled',
  'timeout',
  'indefinite',
]);

/**
 * Splits random segments at random partitions and merges random neighbours, one after the other until it is told to stop; some at two
 * brokers at once, some merges while their second segment is being split. Throws where an answer isn't as it must be.
 */
export async function changeByHand(by: ByHand, stop: AbortSignal): Promise<Outcomes> {
  const outcomes: Outcomes = new Map();
  for (; !stop.aborted; await by.next()) {
    const asked = choose(by.open(), by.random);
    const told = await Promise.all(asked.map((change) => askFor(by, change)));
    // They share a segment.
    if (told.filter((what) => what === 'split' || what === 'merge').length > 1) throw new Error(`both were made: ${JSON.stringify(asked)}`);
    for (const what of told) outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
  }
  return outcomes;
}

/** Changes of which one can be made at most. */
function choose(open: readonly SegmentRange[], random: SeededRandom): Change[] {
  const index = random.integer(open.length - 1);
  const [lower, upper] = [open[index], open[index + 1]];
  if (lower === undefined || upper === undefined) throw new Error('there are no neighbours');
  const merge = { kind: 'merge', segments: [lower.segment, upper.segment] } as const;
  const isMerge = open.length >= OPEN_MAX || (open.length > OPEN_MIN && random.chance(0.5));
  const first = isMerge ? [merge] : splitsOf(upper, random);
  // Again, or in its way.
  const second = random.chance(0.4) ? splitsOf(upper, random) : [];
  const third = isMerge && random.chance(0.2) ? [merge] : [];
  return random.chance(0.5) ? [...first, ...second, ...third] : [...third, ...second, ...first];
}

/** Nothing of one partition. */
function splitsOf({ segment, lo, hi }: SegmentRange, random: SeededRandom): Change[] {
  return lo === hi ? [] : [{ kind: 'split', segment, at: lo + 1 + random.integer(hi - lo) }];
}

async function askFor({ fleet, topic, random, open }: ByHand, change: Change): Promise<string> {
  const ranges = open().filter(({ segment }) => parentsOf(change).includes(segment));
  const reply = await askChange(random.pick(fleet.others()).url, topic, change, TIMEOUT_MS);
  if (!reply.answered) return 'unknown';
  if (reply.status === 200) {
    checkSuccessors(change, ranges, reply);
    return change.kind;
  }
  const { code, detail } = JSON.parse(reply.text) as { code: string; detail: string };
  if (!EXPECTED.has(code)) throw new Error(`${reply.status} ${code}: ${detail} for ${JSON.stringify(change)}`);
  return code;
}

/** `ranges`: of its segments, where they were known as open when it was asked for. */
function checkSuccessors(change: Change, ranges: readonly Range[], reply: Extract<Reply, { answered: true }>): void {
  const successors = successorsOf(reply.text);
  const isWhole = ranges.length < parentsOf(change).length || covers(ranges, successors);
  const isCut = change.kind === 'merge' ? successors.length === 1 : successors.length === 2 && successors[1]?.lo === change.at;
  if (!isWhole || !isCut) throw new Error(`${JSON.stringify(change)} gave ${reply.text}`);
}

const parentsOf = (change: Change): readonly string[] => (change.kind === 'merge' ? change.segments : [change.segment]);
