import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Range, SegmentRange, Topic } from '../../src/model/topic.ts';
import type { Placed, PublishRequest, PublishResult } from '../../src/publish/request.ts';
import type { Address, Outcome } from '../checkers/history.ts';
import { keyed, publishOf } from '../publish/requests.ts';
import type { Fleet } from './fleet.ts';
import type { Life } from './life.ts';
import type { Recorder } from './recorder.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TestWorld } from './test-broker.ts';

/** What clients of one simulation share. */
export type Run = {
  readonly world: TestWorld;
  readonly fleet: Fleet;
  readonly recorder: Recorder;
  readonly topicName: string;
  /** How much longer than usual everybody rests between two requests; absent: not at all. */
  readonly pace?: number;
  /** Whether clients should bring what they have begun to an end, and begin nothing new. */
  isOver(): boolean;
  /** Whether nobody writes any more, and nothing is on its way. */
  isQuiet(): boolean;
};
export type Client = { readonly name: string; readonly run: Run; readonly random: SeededRandom };

const THINK_MS_MAX = 300;
const TIMEOUT_MS_MIN = 200;
const TIMEOUT_MS_SPREAD = 6_000;
/** Nothing fails any more, and nobody waits for longer. */
const CALM_MS_MAX = 1_000;
/** Tries of a request before its client gives up, and after all faults have ended. */
const TRIES_MAX = 6;
/** Of one client. */
const PRODUCERS = 10;
export const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4', 'k6', 'a', 'b', 'c'] as const;

export type Answer = { readonly outcome: Outcome; readonly address?: Address; readonly error?: KelpError };

export const think = (client: Client): Promise<void> => rest(client, THINK_MS_MAX);

/** So long at most, at the pace of its run. */
export const rest = ({ run, random }: Client, msMax: number): Promise<void> =>
  run.world.clock.sleep(random.integer(msMax * (run.pace ?? 1)), run.world.signal);

/** Answers `undefined` where the broker died, or didn't answer in time. */
export async function ask<T>(
  { run, random }: Client,
  call: (life: Life, signal: AbortSignal) => Promise<T>,
  timeoutMs = TIMEOUT_MS_MIN + random.integer(TIMEOUT_MS_SPREAD),
): Promise<T | undefined> {
  const life = run.fleet.any();
  const signal = run.world.clock.deadline(timeoutMs);
  // Whoever asks a broker that stands still is heard later, and hears of it later.
  const heard = async (): Promise<T> => {
    await life.thawed();
    try {
      return await call(life, signal);
    } finally {
      await life.thawed();
    }
  };
  const answer = await Promise.race([heard(), life.died]);
  return answer === 'died' ? undefined : answer;
}

/** One try of a request, with an answer for each of its messages. */
export async function attempt(client: Client, request: PublishRequest, count: number, timeoutMs?: number): Promise<Answer[]> {
  const { run } = client;
  try {
    const publish = async ({ broker }: Life, signal: AbortSignal): Promise<PublishResult> => {
      const topic = await broker.topics.resolve(run.topicName, { fresh: false }, signal);
      return broker.publisher.publish(topic, request, signal);
    };
    const results = await ask(client, publish, timeoutMs);
    if (results === undefined) return Array.from({ length: count }, () => ({ outcome: 'unknown' as const }));
    return results.map(answerOf);
  } catch (error) {
    const answer = answerOfThrown(error);
    if (answer === undefined) throw error;
    return Array.from({ length: count }, () => answer);
  }
}

function answerOf(result: Placed | KelpError): Answer {
  if (result instanceof KelpError) return { outcome: result.kind === 'indefinite' ? 'unknown' : 'refused', error: result };
  const { segment, offset } = result;
  return { outcome: 'acked', ...(offset === null ? {} : { address: { segment, offset } }) };
}

/** Thrown is what concerns the whole request; the caller's own deadline where nothing was sent yet. */
function answerOfThrown(error: unknown): Answer | undefined {
  if (error instanceof KelpError) return answerOf(error);
  if (error instanceof DOMException && error.name === 'TimeoutError') return { outcome: 'refused' };
  return undefined;
}

export const isPassing = (error: KelpError | undefined): boolean =>
  error === undefined || ['throttled', 'unavailable', 'indefinite'].includes(error.kind);

export function surprise({ run, name }: Client, what: string, error: KelpError | undefined): void {
  run.recorder.surprise(`${name}: ${what}: ${error?.kind} ${error?.code} ${error?.message}`);
}

/** Not in the order of the messages: senders' clocks differ. */
const timestampMs = ({ world }: Run, n: number): number => world.clock.nowMs() - ((n * 7_919) % 600) * 1_000;

function timed(request: PublishRequest, ms: number): PublishRequest {
  const { content } = request;
  if (content.kind !== 'messages') return request;
  return { ...request, content: { ...content, messages: content.messages.map((one, m) => ({ ...one, timestampMs: ms + m })) } };
}

/** Sends each message once. */
export async function plainWriter(client: Client): Promise<void> {
  const { run, name, random } = client;
  for (let n = 0; !run.isOver(); n += 1) {
    const messages = Array.from({ length: 1 + random.integer(4) }, (_, m) => ({ id: `${name}-${n}.${m}`, key: random.pick(KEYS) }));
    messages.forEach(run.recorder.begin);
    const answers = await attempt(client, timed(publishOf(messages.map(({ key, id }) => [key, id])), timestampMs(run, n)), messages.length);
    for (const [index, { id }] of messages.entries()) {
      const { outcome, address, error } = answers[index] ?? { outcome: 'unknown' };
      if (!isPassing(error)) surprise(client, id, error);
      run.recorder.end(id, outcome, address);
    }
    await think(client);
  }
}

/** Repeats each request under its Idempotency-Key until all of it is acked, sometimes at two brokers at once. */
export async function keyedWriter(client: Client): Promise<void> {
  const { run, name, random } = client;
  for (let n = 0; !run.isOver(); n += 1) {
    const messages = Array.from({ length: 1 + random.integer(4) }, (_, m) => ({ id: `${name}-${n}.${m}`, key: random.pick(KEYS) }));
    messages.forEach(run.recorder.begin);
    const request = keyed(
      messages.map(({ key, id }) => [key, id]),
      `${name}-${n}`,
    );
    const answers: Answer[][] = [];
    for (let tries = 0; tries < TRIES_MAX && !isAcked(answers.at(-1)); tries += 1) {
      const handlers = random.chance(0.3) ? 2 : 1;
      answers.push(...(await Promise.all(Array.from({ length: handlers }, () => attempt(client, request, messages.length)))));
      await think(client);
    }
    // A repeat after the end has the same answer.
    if (random.chance(0.2)) answers.push(await attempt(client, request, messages.length));
    for (const [index, { id }] of messages.entries()) {
      const own = answers.flatMap((answer) => answer[index] ?? []);
      own.filter(({ error }) => !isPassing(error)).forEach(({ error }) => surprise(client, id, error));
      const { outcome, address } = together(own);
      const places = new Set(
        own.flatMap((answer) => (answer.address === undefined ? [] : [`${answer.address.segment}:${answer.address.offset}`])),
      );
      if (places.size > 1) run.recorder.surprise(`${name}: ${id} is said to be at ${[...places].join(' and ')}`);
      run.recorder.end(id, outcome, address);
    }
  }
}

const isAcked = (answers: readonly Answer[] | undefined): boolean => answers?.every(({ outcome }) => outcome === 'acked') ?? false;

/** What all tries together say of one message. */
export function together(answers: readonly Answer[]): Answer {
  const ranked = (['acked', 'unknown', 'refused'] as const).flatMap(
    (outcome) => answers.find((answer) => answer.outcome === outcome) ?? [],
  );
  return ranked[0] ?? { outcome: 'refused' };
}

/** Where a producer stands. A new epoch begins where it has given a batch up. */
type Line = { segment: SegmentId; epoch: number; next: number };

/**
 * Several producers in turn, more than a head has room for. Each sends batch after batch with a sequence, each batch until it
 * is acked, and follows its key through seals.
 */
export async function producerWriter(client: Client): Promise<void> {
  const { run, name, random } = client;
  const lines = new Map<string, { readonly key: string; line: Line }>();
  for (let n = 0; !run.isOver(); n += 1) {
    const producer = `${name}.${random.integer(PRODUCERS)}`;
    const key = lines.get(producer)?.key ?? random.pick(KEYS);
    const line = lines.get(producer)?.line ?? (await firstLine(client, key));
    const ids = Array.from({ length: 1 + random.integer(3) }, (_, m) => `${producer}-${n}.${m}`);
    lines.set(producer, { key, line: await sendBatch({ ...client, name: producer }, { key, ids, line }) });
    await think(client);
  }
}

async function firstLine(client: Client, key: string): Promise<Line> {
  for (;;) {
    const topic = await ask(client, ({ broker }, signal) => broker.topics.resolve(client.run.topicName, { fresh: true }, signal)).catch(
      () => undefined,
    );
    if (topic !== undefined) return { segment: segmentOf(topic.open, key), epoch: 0, next: 0 };
    await think(client);
  }
}

function segmentOf(ranges: readonly SegmentRange[], key: string): SegmentId {
  const partition = partitionOf(new TextEncoder().encode(key));
  const range = ranges.find(({ lo, hi }: Range) => partition >= lo && partition <= hi);
  if (range === undefined) throw new Error(`nobody has the partition of ${key}`);
  return range.segment;
}

type Batch = { readonly key: string; readonly ids: readonly string[]; readonly line: Line };

/** Answers where the line stands afterwards. */
async function sendBatch(client: Client, { key, ids, line }: Batch): Promise<Line> {
  const { run, name } = client;
  let at = line;
  const answers: Answer[] = [];
  const nameOfLine = (): string => `${name}/${at.segment}/${at.epoch}`;
  // The line that counts is the one on which the batch is acked; until then nobody looks at it.
  ids.forEach((id, m) => run.recorder.begin({ id, key, line: { name: nameOfLine(), sequence: at.next + m } }));
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const request: PublishRequest = {
      ...publishOf(ids.map((id) => [key, id])),
      segment: at.segment,
      producer: { producer: name, epoch: at.epoch, sequence: at.next },
    };
    // An impatient client asks a second broker while the first one is at it.
    const copies = client.random.chance(0.3) ? 2 : 1;
    const tried = await Promise.all(Array.from({ length: copies }, () => attempt(client, request, ids.length)));
    const batch = ids.map((_, m) => together(tried.flatMap((answer) => answer[m] ?? [])));
    answers.push(together(batch));
    const [{ outcome, error } = { outcome: 'unknown' as const, error: undefined }] = batch;
    if (outcome === 'acked') {
      ids.forEach((id, m) => run.recorder.end(id, 'acked', batch[m]?.address));
      return { ...at, next: at.next + ids.length };
    }
    if (error?.code === 'segment-sealed') {
      // The frozen head says that it never landed there: it goes first on a new line.
      at = { ...at, segment: segmentOf(error.extra['successors'] as readonly SegmentRange[], key), next: 0 };
      ids.forEach((id, m) => run.recorder.move(id, { name: nameOfLine(), sequence: m }));
      answers.length = 0;
    } else if (!isPassing(error)) surprise(client, ids.join(), error);
    await think(client);
  }
  ids.forEach((id) => run.recorder.end(id, together(answers.filter(({ outcome }) => outcome !== 'refused')).outcome));
  return { ...at, epoch: at.epoch + 1, next: 0 };
}

/** Stores only at the tail that it has seen: a refusal must never be stored. */
export async function matchingWriter(client: Client): Promise<void> {
  const { run, name, random } = client;
  for (let n = 0; !run.isOver(); n += 1) {
    const found = await ask(client, async ({ broker }, signal) => {
      const topic: Topic = await broker.topics.resolve(run.topicName, { fresh: false }, signal);
      const key = random.pick(KEYS);
      const segment = segmentOf(topic.open, key);
      return { key, segment, tail: (await broker.heads.read(topic.id, segment, signal))?.tail ?? 0 };
    }).catch(() => undefined);
    if (found !== undefined) {
      const { key, segment, tail } = found;
      const id = `${name}-${n}`;
      run.recorder.begin({ id, key });
      const [answer] = await attempt(client, { ...publishOf([[key, id]]), segment, matchTail: tail }, 1);
      const { outcome, address, error } = answer ?? { outcome: 'unknown' };
      if (!isPassing(error) && error?.code !== 'tail-mismatch' && error?.code !== 'segment-sealed') surprise(client, id, error);
      if (address !== undefined && address.offset !== tail) run.recorder.surprise(`${id} was stored at ${address.offset}, not at ${tail}`);
      run.recorder.end(id, outcome, address);
    }
    await think(client);
  }
}

/** When all is calm, every key has an open segment, whoever is asked. */
export async function lastWriter(client: Client): Promise<void> {
  const { run, name } = client;
  for (const key of KEYS) {
    const id = `${name}-${key}`;
    run.recorder.begin({ id, key });
    const [answer] = await attempt(client, publishOf([[key, id]]), 1, CALM_MS_MAX);
    if (answer?.outcome !== 'acked') surprise(client, `${id} is ${answer?.outcome}`, answer?.error);
    run.recorder.end(id, answer?.outcome ?? 'unknown', answer?.address);
  }
}
