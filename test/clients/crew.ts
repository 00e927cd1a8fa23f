import { Agent } from 'node:http';
import { partitionOf } from '../../src/model/partition.ts';
import type { Publish, Read } from '../checkers/history.ts';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { writeAsProducer } from './producer.ts';
import { followTopic, listSegments, type ReaderOptions, type SegmentInfo, type Start } from './reader.ts';
import { streamTopic } from './stream-reader.ts';
import { type Met, writePlainly, writeWithIdempotencyKeys, type WriterOptions } from './writer.ts';

export type CrewOptions = Pick<ReaderOptions, 'topic' | 'token' | 'url' | 'answerMs'> & {
  readonly random: SeededRandom;
  /** Producers on each segment. */
  readonly producers: number;
  readonly keyed: number;
  readonly plain: number;
  /** Readers that follow the topic by long-polls (default 1), and by server-sent events (0). */
  readonly followers?: number;
  readonly streams?: number;
  /** Of one attempt, and of one request with all its attempts. */
  readonly timeoutMs: number;
  readonly patienceMs: number;
};

/** Writers of all kinds on all segments of a topic, and readers that follow. */
export type Crew = {
  readonly ledger: Ledger;
  /** Resolves once so many messages were acknowledged since the crew began; rejects when a writer fails. */
  acked(count: number): Promise<void>;
  /**
   * Another reader, from this cursor on, such as `latest`. It is to have all that was sent after the event `since`; default: after
   * its first answer.
   */
  follow(name: string, cursor: string, since?: number): void;
  /** How often any of them met this: see Met. */
  met(what: string): number;
  /** All that its writers met but acknowledgements; empty while each attempt ended with one. */
  failures(): string[];
  /** The longest wait for an answer. */
  longestMs(): number;
  /**
   * No new messages; resolves when everything has an outcome and each follower has all that is acknowledged. Rejects when
   * anybody has failed, or is still behind after a while.
   */
  finish(): Promise<{ readonly publishes: Publish[]; readonly reads: readonly Read[]; readonly met: Met }>;
};

const KEYS_A_SEGMENT = 6;
const POLL_MS = 10;
/** How long followers may take to catch up when nothing new comes. */
const BEHIND_MS_MAX = 60_000;

export async function startCrew(options: CrewOptions): Promise<Crew> {
  const agent = new Agent({ keepAlive: true });
  const segments = await listSegments({ ...options, agent });
  const ledger = createLedger();
  const [stop, stopReading] = [new AbortController(), new AbortController()];
  const { topic, token, url, timeoutMs, patienceMs, followers = 1, streams = 0 } = options;
  const met: Met = new Map();
  let longestMs = 0;
  const onAnswer = (waitedMs: number): void => void (longestMs = Math.max(longestMs, waitedMs));
  const common = { topic, token, url, timeoutMs, patienceMs, agent, ledger, met, onAnswer, stop: stop.signal };
  const writers: Promise<void>[] = [];

  const add = (name: string, keys: WriterOptions['keys'], write: (own: WriterOptions) => Promise<void>): void => {
    writers.push(write({ ...common, name, keys, random: options.random.fork(name) }));
  };
  for (const range of segments) {
    const keys = keysOf(range);
    for (let i = 0; i < options.producers; i += 1) {
      // Every other one has a single request in flight: its keys' order is then that of its own acknowledgements as well.
      add(`producer-${range.segment}-${i}`, keys, (own) => writeAsProducer(own, { range, window: i % 2 === 0 ? 3 : 1 }));
    }
  }
  const everywhere = segments.flatMap(keysOf) as [string, ...string[]];
  for (let i = 0; i < options.keyed; i += 1) add(`keyed-${i}`, everywhere, writeWithIdempotencyKeys);
  for (let i = 0; i < options.plain; i += 1) add(`plain-${i}`, everywhere, writePlainly);

  const readers: Promise<Read>[] = [];
  const following: Following[] = [];
  const follow = (name: string, read: typeof followTopic, from?: Start): void => {
    const seen = new Set<string>();
    const own: Following = { name, seen, since: from === undefined ? -Infinity : Infinity };
    following.push(own);
    const noted = from === undefined ? {} : { from: { ...from, since: () => (own.since = from.since()) } };
    const reading = read({ ...options, ...noted, agent, name, onSeen: ({ id }) => void seen.add(id) }, stopReading.signal);
    readers.push(reading);
    reading.catch(fail);
  };
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  // Whoever waits for the crew sees the failure; until somebody does, it must not end the process.
  failed.catch(() => [stop, stopReading].forEach((end) => end.abort()));
  for (let i = 0; i < followers; i += 1) follow(`follower-${i}`, followTopic);
  for (let i = 0; i < streams; i += 1) follow(`stream-${i}`, streamTopic);
  const written = Promise.all(writers);
  written.catch(fail);
  return {
    ledger,
    acked: (count) => ackedOf(ledger, count, failed),
    follow: (name, cursor, since) => follow(name, followTopic, { cursor, since: () => since ?? ledger.events() }),
    met: (what) => met.get(what) ?? 0,
    failures: () => [...met.keys()].filter((what) => what !== 'acked'),
    longestMs: () => longestMs,
    finish,
  };

  async function finish(): ReturnType<Crew['finish']> {
    stop.abort();
    try {
      await Promise.race([written, failed]);
      await caughtUp(ledger, following, failed);
    } finally {
      stopReading.abort();
    }
    const reads = await Promise.all(readers);
    agent.destroy();
    return { publishes: ledger.publishes(), reads, met };
  }
}

/** Keys whose partitions lie in the segment. */
function keysOf({ lo, hi }: Pick<SegmentInfo, 'lo' | 'hi'>): [string, ...string[]] {
  const keys: string[] = [];
  for (let i = 0; keys.length < KEYS_A_SEGMENT; i += 1) {
    const partition = partitionOf(new TextEncoder().encode(`key-${i}`));
    if (partition >= lo && partition <= hi) keys.push(`key-${i}`);
  }
  return keys as [string, ...string[]];
}

/** A reader, what it has seen, and after which event it is to have everything. */
type Following = { readonly name: string; readonly seen: ReadonlySet<string>; since: number };

/** Resolves once each reader has seen all that was acknowledged, or what it began early enough for. */
async function caughtUp(ledger: Ledger, following: readonly Following[], failed: Promise<never>): Promise<void> {
  const acked = ledger.publishes().filter(({ outcome }) => outcome === 'acked');
  const endMs = performance.now() + BEHIND_MS_MAX;
  for (const { name, seen, since } of following) {
    for (
      let missing = acked.filter(({ sentAt }) => sentAt > since);
      missing.length > 0;
      missing = missing.filter(({ id }) => !seen.has(id))
    ) {
      if (performance.now() > endMs) throw new Error(`${name} lacks ${missing.length} messages, such as ${JSON.stringify(missing[0])}`);
      await Promise.race([new Promise((resolve) => void setTimeout(resolve, POLL_MS)), failed]);
    }
  }
}

async function ackedOf(ledger: Ledger, count: number, failed: Promise<never>): Promise<void> {
  const wanted = ledger.count('acked') + count;
  while (ledger.count('acked') < wanted) {
    await Promise.race([new Promise((resolve) => void setTimeout(resolve, POLL_MS)), failed]);
  }
}
