import { setTimeout as sleep } from 'node:timers/promises';
import { KelpError } from '../../src/model/errors.ts';
import { LEAVING_STOP_MS, spawnBroker, untilServing } from './broker.ts';
import { type Endpoint, listBrokers } from './list-brokers.ts';
import type { Child, Children } from './processes.ts';

/** What brokers of embedded stores get of the ten seconds in which everything ends; the stores have nothing to finish. */
const BROKER_STOP_MS = 5_500;
/** Longer than a broker takes for two signals to be the same one (src/cli/serve.ts). */
const HURRY_MS = 200;
/** How often a broker may end by itself within a minute; then something is wrong that starting it again doesn't mend. */
const ENDS_MAX = 5;
const ENDS_WITHIN_MS = 60_000;
const BACKOFF_MS = 250;
const REGISTERED_MS = 10_000;
const POLL_MS = 100;

/** One broker's place among those that are started here: its process may change, its name and address don't. */
export type Place = {
  /** Of its log file. */
  readonly name: string;
  readonly id: string;
  readonly url: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

export type Keeping = {
  readonly rootToken: string;
  readonly children: Children;
  readonly say: (line: string) => void;
  /** Whether it is started again when it ends by itself. */
  readonly again: boolean;
  readonly signal: AbortSignal;
};

export type KeptBroker = Place & {
  /** Resolves with the process of a broker that ended by itself, and isn't started again any more. */
  readonly failed: Promise<Child>;
  /** Has it leave, starts it anew, resolves once it serves and is registered. Error `unavailable`/`not-ready`. */
  restart(signal: AbortSignal): Promise<void>;
  /** `hurried`: it doesn't hand its segments over, since all others end, too. */
  stop(options: { readonly hurried: boolean }): Promise<void>;
};

/** Starts a broker, resolves once it serves, and keeps it running from then on. */
export async function keepBroker(place: Place, keeping: Keeping): Promise<KeptBroker> {
  const { name, url, environment } = place;
  const { children, say, again } = keeping;
  const stopping = new AbortController();
  const failed = Promise.withResolvers<Child>();
  const ends: number[] = [];
  /** Raised when somebody else takes over what becomes of the process. */
  let turn = 0;
  let child: Promise<Child> = spawnBroker(name, environment, children);

  async function watch(watched: Child): Promise<void> {
    const mine = turn;
    await watched.exited;
    if (mine !== turn) return;
    const nowMs = performance.now();
    ends.push(nowMs);
    const lately = ends.filter((endMs) => nowMs - endMs < ENDS_WITHIN_MS).length;
    if (!again || lately >= ENDS_MAX) return failed.resolve(watched);
    say(`${name} has ended by itself (see ${watched.logFile}): starting it again`);
    await sleep(BACKOFF_MS * 2 ** (lately - 1), undefined, { ref: false });
    if (mine !== turn) return;
    child = spawnBroker(name, environment, children);
    void watch(await child);
  }

  async function restart(outerSignal: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([outerSignal, stopping.signal]);
    turn += 1;
    const ended = await child;
    await ended.stop(LEAVING_STOP_MS);
    signal.throwIfAborted();
    const beganMs = Date.now();
    child = spawnBroker(name, environment, children);
    const begun = await child;
    void watch(begun);
    await untilServing(url, begun, signal);
    await untilRegistered(place, { url, rootToken: keeping.rootToken }, { child: begun, beganMs, signal });
  }

  async function stop({ hurried }: { readonly hurried: boolean }): Promise<void> {
    turn += 1;
    stopping.abort();
    const last = await child;
    if (hurried) {
      last.signal('SIGTERM');
      await Promise.race([last.exited, sleep(HURRY_MS)]);
    }
    await last.stop(hurried ? BROKER_STOP_MS : LEAVING_STOP_MS);
  }

  const first = await child;
  await untilServing(url, first, keeping.signal);
  void watch(first);
  return { ...place, failed: failed.promise, restart, stop };
}

type Waiting = { readonly child: Child; readonly beganMs: number; readonly signal: AbortSignal };

/** Until then nothing is assigned to it, and nothing may be taken away from the next one. Error `unavailable`/`not-ready`. */
async function untilRegistered({ id, name }: Place, endpoint: Endpoint, { child, beganMs, signal }: Waiting): Promise<void> {
  const end = AbortSignal.timeout(REGISTERED_MS);
  let last: unknown = 'it is not in the list';
  // Bounded: the time-out ends it.
  while (!end.aborted && child.running()) {
    try {
      const brokers = await listBrokers(endpoint, signal);
      if (brokers.some((broker) => broker.id === id && broker.startedMs >= beganMs)) return;
    } catch (error) {
      signal.throwIfAborted();
      last = error;
    }
    await sleep(POLL_MS, undefined, { signal });
  }
  const why = `${name} is not registered ${REGISTERED_MS / 1_000} s after its start`;
  throw new KelpError('unavailable', 'not-ready', `${why}: ${String(last)} (see ${child.logFile})`, { cause: last });
}
