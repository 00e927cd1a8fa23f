import { KelpError } from '../../src/model/errors.ts';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import type { SegmentRange, TopologyChange } from '../../src/model/topic.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import type { SegmentPage } from '../../src/consume/page.ts';
import type { Call, End, Operation, PublishOutcome } from '../checkers/linearizable.ts';
import { publishOf } from '../publish/requests.ts';
import { createFleet, type FleetOptions } from './fleet.ts';
import type { Life } from './life.ts';
import { type Answer, ask, attempt, type Client, type Run } from './log-writers.ts';
import { createRecorder } from './recorder.ts';
import { createTestWorld, type TestBroker } from './test-broker.ts';

/** By segment, what all clients did there. */
export type SmallHistory = { readonly segments: ReadonlyMap<SegmentId, readonly Operation[]>; readonly faults: number };

export type SmallOptions = FleetOptions & {
  readonly clients: number;
  /** Of each client. The auditor does two more in each segment. */
  readonly operations: number;
  /** How often one of them is a seal. */
  readonly sealShare: number;
};

const TOPIC = 't';
/** Of one history: calls that overlap, or that late writes fall between. */
const PAUSES_MS_MAX = [50, 500, 1_500] as const;
/** Longer than whatever is late. */
const LATE_MS_MAX = 10_000;
const PAGE_MESSAGES_MAX = 8;

type Notebook = {
  /** Before a call; the answer is written down by what it says of each segment, those too that nobody has heard of yet. */
  begin(client: string): (callIn: (segment: SegmentId) => Call | undefined) => void;
  /** The highest tail that a client was told, and so the segments that clients know. */
  readonly tails: Map<SegmentId, number>;
  operationsIn(segment: SegmentId): Operation[];
};

/** A few clients, each with a few calls on a topic of one segment and, once that is sealed, its successor. */
export async function simulateSmallHistory(seed: number, options: SmallOptions): Promise<SmallHistory> {
  const world = createTestWorld(`small ${seed}`);
  const { clock, random } = world;
  const { open } = await world.topic(1, TOPIC);
  const fleet = createFleet(world, random.fork('fleet'), options);
  const notebook = createNotebook(open);
  const pauseMsMax = random.pick(PAUSES_MS_MAX);
  const over = { isOver: false };
  const run: Run = { world, fleet, recorder: createRecorder(), topicName: TOPIC, isOver: () => over.isOver, isQuiet: () => over.isOver };

  async function live(client: Client): Promise<void> {
    for (let n = 0; n < options.operations; n += 1) {
      await clock.sleep(client.random.integer(pauseMsMax), world.signal);
      if (client.random.chance(options.sealShare)) await seal(client, notebook);
      else await client.random.pick([publish, publish, readOnce, tellTail])(client, notebook, `${client.name}-${n}`);
    }
  }

  const clients = Array.from({ length: options.clients }, (_, n) => ({ name: `c${n}`, run, random: random.fork(`client ${n}`) }));
  await clock.run(Promise.all(clients.map(live)));
  fleet.calm();
  await clock.run(clock.sleep(LATE_MS_MAX, world.signal));
  fleet.killAll();
  const audited = await clock.run(audit(world.broker(), run, notebook));
  return { segments: new Map(audited.map((segment) => [segment, notebook.operationsIn(segment)])), faults: fleet.counts().faults };
}

function createNotebook(open: readonly SegmentRange[]): Notebook {
  const written: ((segment: SegmentId) => Operation[])[] = [];
  let events = 0;
  return {
    tails: new Map(open.map(({ segment }) => [segment, 0])),
    operationsIn: (segment) => written.flatMap((operationIn) => operationIn(segment)),
    begin(client) {
      const invokedAt = (events += 1);
      return (callIn) => {
        const completedAt = (events += 1);
        written.push((segment) => {
          const call = callIn(segment);
          return call === undefined ? [] : [{ ...call, client, invokedAt, completedAt }];
        });
      };
    },
  };
}

const only =
  (segment: SegmentId | undefined, call: Call) =>
  (other: SegmentId): Call | undefined =>
    other === segment ? call : undefined;

/** What an answer tells clients of where to go on. */
function learn({ tails }: Notebook, segment: SegmentId, tail = 0): void {
  tails.set(segment, Math.max(tail, tails.get(segment) ?? 0));
}

const anySegment = ({ random }: Client, { tails }: Notebook): SegmentId => random.pick([...tails.keys()] as [SegmentId, ...SegmentId[]]);

/** Often a tail that is still to come: what was refused for it could land once it is there. */
function matchOf(client: Client, notebook: Notebook): { readonly segment: SegmentId; readonly matchTail: number } {
  const segment = anySegment(client, notebook);
  return { segment, matchTail: (notebook.tails.get(segment) ?? 0) + client.random.pick([0, 1, 1]) };
}

async function publish(client: Client, notebook: Notebook, name: string): Promise<void> {
  const { random } = client;
  const values = Array.from({ length: random.pick([1, 1, 1, 2]) }, (_, m) => `${name}.${m}`);
  const match = random.chance(0.5) ? matchOf(client, notebook) : undefined;
  const end = notebook.begin(client.name);
  const answers = await attempt(client, { ...publishOf(values), ...match }, values.length);
  const [first] = answers;
  if (first === undefined || answers.some(({ outcome }) => outcome !== first.outcome)) throw new Error(`${name} is stored in part`);
  answers.forEach(({ address }, m) => {
    const isNext = address?.segment === first.address?.segment && address?.offset === (first.address && first.address.offset + m);
    if (!isNext) throw new Error(`${name} is not stored in a row`);
  });
  if (first.address !== undefined) learn(notebook, first.address.segment as SegmentId, first.address.offset + values.length);
  const asked = match === undefined ? {} : { matchTail: match.matchTail };
  const callIn = (segment: SegmentId): Call => ({ kind: 'publish', values, ...asked, outcome: outcomeIn(segment, first) });
  end((segment) => (match !== undefined && match.segment !== segment ? undefined : callIn(segment)));
}

/** What the answer says of one segment: who was stored in another one, or is told so, met a seal or nothing at all. */
function outcomeIn(segment: SegmentId, { outcome, address, error }: Answer): PublishOutcome {
  if (outcome === 'unknown') return { kind: 'unknown' };
  if (outcome === 'acked' && address?.segment === segment) return { kind: 'stored', offset: address.offset };
  if (error?.code === 'segment-sealed' && error.extra['segment'] === segment) return { kind: 'refused', end: { sealed: true } };
  if (error?.code !== 'tail-mismatch') return { kind: 'refused' };
  return { kind: 'refused', end: { tail: Number(error.extra['tail']), sealed: false } };
}

/** Undefined where nothing was answered: it is as if it had never been asked. */
async function lookAt<T>(client: Client, look: (life: Life, signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  return ask(client, look).catch((error: unknown) => {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    const passes = ['unavailable', 'throttled', 'indefinite', 'not-found'];
    if (isTimeout || (error instanceof KelpError && passes.includes(error.kind))) return undefined;
    throw error;
  });
}

async function readOnce(client: Client, notebook: Notebook): Promise<void> {
  const { random, run } = client;
  const segment = anySegment(client, notebook);
  const from = random.integer((notebook.tails.get(segment) ?? 0) + 1);
  const bounds = { messagesMax: 1 + random.integer(PAGE_MESSAGES_MAX), bytesMax: 1_000_000, waitMs: random.pick([0, 0, 500]) };
  const end = notebook.begin(client.name);
  const page = await lookAt(client, async ({ broker }, signal) => {
    const topic = await broker.topics.resolve(run.topicName, { fresh: false }, signal);
    return pageOf(broker, await broker.consumer.readSegment(topic, { segment, from: { offset: from }, ...bounds }, signal));
  });
  if (page === undefined) return;
  learn(notebook, segment, page.read.tail);
  for (const { segment: successor } of page.read.successors) learn(notebook, successor);
  end(only(segment, readCall(from, page)));
}

async function pageOf({ consumer }: TestBroker, read: SegmentPage) {
  const decoded = await Promise.all(read.slices.map((slice) => consumer.decode(slice)));
  return { read, values: decoded.flat().map(({ value }) => new TextDecoder().decode(value ?? undefined)) };
}

/** Below the tail a page comes from a head that may be old: of the end it says for certain only that it is sealed. */
function readCall(from: number, { read, values }: Awaited<ReturnType<typeof pageOf>>): Call {
  const end: End = { tail: read.tail, sealed: read.sealed };
  return { kind: 'read', from, values, ...(values.length === 0 || read.sealed ? { end } : {}) };
}

async function tellTail(client: Client, notebook: Notebook): Promise<void> {
  const segment = anySegment(client, notebook);
  const end = notebook.begin(client.name);
  const told = await lookAt(client, async ({ broker }, signal) => {
    const topic = await broker.topics.resolve(client.run.topicName, { fresh: false }, signal);
    return broker.topics.segment(topic, segment, signal);
  });
  if (told === undefined) return;
  learn(notebook, segment, told.tail);
  for (const successor of told.successors) learn(notebook, successor);
  end(only(segment, { kind: 'tail', end: { tail: told.tail, sealed: told.state === 'sealed' } }));
}

/** Whoever fails on the way leaves the rest to whoever meets it. */
async function seal(client: Client, notebook: Notebook): Promise<void> {
  const { random, run } = client;
  const end = notebook.begin(client.name);
  let parent: SegmentId | undefined;
  const change = async ({ broker }: Life, signal: AbortSignal): Promise<boolean> => {
    const topic = await broker.topics.resolve(run.topicName, { fresh: true }, signal);
    const [range] = topic.open;
    if (range === undefined) return false;
    const children = [{ ...range, segment: segmentId(topic.nextSegment) }];
    const wanted: TopologyChange = { id: `c${random.base36(16)}`, kind: 'create', parents: [range.segment], children };
    parent = range.segment;
    const intended = await intend(broker.deps, topic, [wanted], signal);
    if (intended === undefined) return false;
    await applyChanges(broker.deps, intended, [wanted], signal);
    return true;
  };
  const done = await ask(client, change).catch((error: unknown) => {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    if (isTimeout || (error instanceof KelpError && ['unavailable', 'throttled', 'indefinite', 'conflict'].includes(error.kind)))
      return undefined;
    throw error;
  });
  end(only(parent, { kind: 'seal', outcome: done === true ? 'done' : 'unknown' }));
}

/** When nothing is on its way any more, a new broker tells the tail and reads all of each segment. */
async function audit(broker: TestBroker, { world: { signal } }: Run, notebook: Notebook): Promise<SegmentId[]> {
  const topic = await broker.topics.resolve(TOPIC, { fresh: true }, signal);
  const segments = await broker.topics.segments(topic, signal);
  for (const { segment } of segments) {
    const tell = notebook.begin('auditor');
    const { tail, state } = await broker.topics.segment(topic, segment, signal);
    tell(only(segment, { kind: 'tail', end: { tail, sealed: state === 'sealed' } }));
    const end = notebook.begin('auditor');
    const bounds = { messagesMax: 1_000, bytesMax: 1_000_000, waitMs: 0 };
    const page = await pageOf(broker, await broker.consumer.readSegment(topic, { segment, from: { offset: 0 }, ...bounds }, signal));
    end(only(segment, readCall(0, page)));
  }
  return segments.map(({ segment }) => segment);
}
