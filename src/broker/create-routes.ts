import type { BrokerDirectory } from '../control/brokers/directory.ts';
import type { LeaderService } from '../control/control.ts';
import type { BrokerAddress } from '../model/broker.ts';
import type { BrokerId, SegmentId } from '../model/ids.ts';
import {
  ASSIGN_ASK_MS_MIN,
  ASSIGN_ASKS_MAX,
  BROKERS_KNOWN_MS_MAX,
  BROKERS_MAX,
  LEADER_ASK_MS_MAX,
  LEASE_MS,
  SUSPECT_MS_MIN,
} from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Background } from '../ports/background.ts';
import type { Clock } from '../ports/clock.ts';
import type { Peers } from '../ports/peers.ts';
import type { Routes } from '../publish/routes.ts';
import { sendForward } from '../publish/send-forward.ts';
import type { Heads } from '../state/heads.ts';
import { createServedSegments } from './served-segments.ts';

export type RoutesDeps = {
  readonly self: BrokerId;
  readonly heads: Heads;
  readonly directory: BrokerDirectory;
  readonly peers: Peers;
  /** Whoever leads. */
  readonly leader: Pick<LeaderService, 'assign' | 'suspect'>;
  readonly clock: Clock;
  readonly background: Background;
};

export type BrokerRoutes = Routes & {
  /** Who serves the segment, this broker included, as far as is known without asking. */
  brokersOf(topic: Topic, segment: SegmentId): readonly BrokerAddress[];
};

type Addresses = readonly BrokerAddress[];
type Place = { readonly topic: Topic; readonly segment: SegmentId };

const HERE: Addresses = [];

/** Where publishes go: by the segments' heads, which are read once, and the directory of brokers. */
export function createRoutes(deps: RoutesDeps): BrokerRoutes {
  const { self, heads, directory, peers } = deps;
  const served = createServedSegments(deps);
  const assignSoon = createAssignSoon(deps, served.learn);
  const suspects = createSuspects(deps);
  const lookSoon = createLookSoon(deps);

  function knownOf(ids: readonly BrokerId[]): Addresses {
    return ids.flatMap((id) => directory.known(id) ?? []).map(({ id, url }) => ({ id, url }));
  }

  function routeOf(place: Place, ids: readonly BrokerId[], signal: AbortSignal): Addresses | Promise<Addresses> {
    if (ids.includes(self)) return HERE;
    if (ids.length === 0) {
      assignSoon(place.topic, place.segment);
      return HERE;
    }
    // What is known to be sealed is refused as well here, with its successors.
    if (heads.known(place.topic.id, place.segment)?.state === 'sealed') return HERE;
    const known = knownOf(ids);
    return known.length === ids.length ? suspects.without(known) : lookUp(place, ids, signal);
  }

  async function lookUp({ topic, segment }: Place, ids: readonly BrokerId[], signal: AbortSignal): Promise<Addresses> {
    const found = await directory.addresses(ids, signal);
    const gone = ids.filter((id) => !found.some((broker) => broker.id === id));
    // Nobody would find out otherwise: it left while the segment was being given to it.
    for (const id of gone) void suspects.note(topic, segment, { id, url: '' });
    return suspects.without(found);
  }

  return {
    of(topic, segment, signal) {
      const ids = served.known(topic, segment);
      const place = { topic, segment };
      if (ids !== undefined) return routeOf(place, ids, signal);
      return served.read(topic, segment, signal).then((read) => routeOf(place, read, signal));
    },
    send: (broker, forward, signal) => sendForward(peers, broker, forward, signal),
    refused(broker) {
      suspects.refused(broker);
      // It may live elsewhere by now.
      lookSoon();
    },
    suspect: suspects.note,
    brokersOf(topic, segment) {
      const ids = served.known(topic, segment) ?? [];
      const known = knownOf(ids);
      if (known.length < ids.length) lookSoon();
      return known;
    },
  };
}

/** Reads where the brokers are in the background, for those that this one has nothing to ask of and yet should name. */
function createLookSoon({ directory, clock, background }: RoutesDeps): () => void {
  let lookedMs = -Infinity;
  return () => {
    if (clock.monotonicMs() - lookedMs < BROKERS_KNOWN_MS_MAX) return;
    lookedMs = clock.monotonicMs();
    background.run('brokers', LEADER_ASK_MS_MAX, async (signal) => void (await directory.list({ fresh: false }, signal)));
  };
}

/** Asks for a segment's brokers in the background: now and then, since whoever leads may be gone, and not for too many at a time. */
function createAssignSoon(
  { leader, clock, background }: RoutesDeps,
  learn: ReturnType<typeof createServedSegments>['learn'],
): (topic: Topic, segment: SegmentId) => void {
  const asked = new Map<string, number>();
  let asking = 0;
  return (topic, segment) => {
    const key = `${topic.id}/${segment}`;
    const nowMs = clock.monotonicMs();
    if (asking >= ASSIGN_ASKS_MAX || nowMs - (asked.get(key) ?? -Infinity) < ASSIGN_ASK_MS_MIN) return;
    forgetBefore(asked, nowMs - ASSIGN_ASK_MS_MIN);
    asked.set(key, nowMs);
    asking += 1;
    background.run('assign', LEADER_ASK_MS_MAX, async (signal) => {
      try {
        learn(topic.id, segment, await leader.assign(topic, segment, signal));
      } finally {
        asking -= 1;
      }
    });
  };
}

/** Oldest first, since each is set anew when it is. */
function forgetBefore(times: Map<string, number>, ms: number): void {
  for (const [key, timeMs] of times) {
    if (timeMs > ms) return;
    times.delete(key);
  }
}

type Suspects = Pick<Routes, 'refused'> & {
  note: Routes['suspect'];
  /** Those that are worth asking now. */
  without(brokers: Addresses): Addresses;
};

/** Brokers that kept somebody waiting: they get nothing new for a while, and the leader is asked whether they live. */
function createSuspects({ leader, directory, clock, background }: RoutesDeps): Suspects {
  const known = new Map<BrokerId, { readonly untilMs: number; readonly dead: boolean }>();
  const asking = new Map<BrokerId, Promise<boolean>>();
  const rest = (broker: BrokerId, ms: number, dead: boolean): void => {
    if (known.size > BROKERS_MAX) known.clear();
    known.set(broker, { untilMs: clock.monotonicMs() + ms, dead });
  };
  const isResting = (broker: BrokerId): boolean => clock.monotonicMs() < (known.get(broker)?.untilMs ?? -Infinity);

  function ask(topic: Topic, segment: SegmentId, id: BrokerId): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    background.run('suspect', LEADER_ASK_MS_MAX, async (signal) => {
      let dead = false;
      try {
        ({ dead } = await leader.suspect({ topic: topic.id, segment }, id, signal));
        // Its segments are on the way to others.
        if (dead) rest(id, LEASE_MS, true);
        // It may live elsewhere by now.
        await directory.list({ fresh: true }, signal);
      } finally {
        asking.delete(id);
        resolve(dead);
      }
    });
    return promise;
  }

  return {
    refused({ id }) {
      if (!isResting(id)) rest(id, SUSPECT_MS_MIN, false);
    },
    note(topic, segment, { id }) {
      const pending = asking.get(id);
      if (pending !== undefined) return pending;
      if (isResting(id)) return Promise.resolve(known.get(id)?.dead === true);
      rest(id, SUSPECT_MS_MIN, false);
      const asked = ask(topic, segment, id);
      asking.set(id, asked);
      return asked;
    },
    without(brokers) {
      if (known.size === 0) return brokers;
      return brokers.filter(({ id }) => !asking.has(id) && !isResting(id));
    },
  };
}
