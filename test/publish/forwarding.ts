import type { BrokerAddress } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId, SegmentId } from '../../src/model/ids.ts';
import { createPublishOperations } from '../../src/publish/peer-operations.ts';
import type { Routes } from '../../src/publish/routes.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { sendForward } from '../../src/publish/send-forward.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { createPeerNetwork, type PeerNetwork } from '../simulation/peer-network.ts';
import type { BrokerOptions, TestBroker, TestWorld } from '../simulation/test-broker.ts';

// A broker that others forward to, and one whose routes a test decides.

/** Who it is that {@link createPair} makes beside this one. */
export const OTHER = 'other' as BrokerId;

export const addressOf = (id: string): BrokerAddress => ({ id: id as BrokerId, url: `http://${id}` });

export type TestRoutes = Routes & {
  /** Who serves which segment; `all`: every one that isn't named. */
  readonly to: Map<SegmentId | 'all', readonly BrokerAddress[]>;
  readonly suspected: BrokerId[];
  readonly refusing: BrokerId[];
  /** Known to be dead, for whoever asks. */
  readonly dead: Set<BrokerId>;
};

function createTestRoutes(network: PeerNetwork): TestRoutes {
  const to: TestRoutes['to'] = new Map();
  const suspected: BrokerId[] = [];
  const refusing: BrokerId[] = [];
  const dead = new Set<BrokerId>();
  return {
    to,
    suspected,
    refusing,
    dead,
    of: (_, segment) => to.get(segment) ?? to.get('all') ?? [],
    send: (broker, forward, signal) => sendForward(network.peers, broker, forward, signal),
    refused: ({ id }) => void refusing.push(id),
    async suspect(_, __, { id }) {
      suspected.push(id);
      return dead.has(id);
    },
  };
}

/** A broker that listens. */
export function joinBroker(world: TestWorld, network: PeerNetwork, id: string, options: Partial<BrokerOptions> = {}): TestBroker {
  const broker = world.broker(options);
  const { publisher, topics } = broker;
  network.join(addressOf(id), createPublishOperations({ publisher, resolve: topics.resolve, forget: topics.forget }));
  return broker;
}

export type Pair = {
  readonly network: PeerNetwork;
  readonly routes: TestRoutes;
  /** Gets the requests. */
  readonly here: TestBroker;
  /** Serves every segment, until a test says otherwise. */
  readonly other: TestBroker;
};

export function createPair(
  world: TestWorld,
  options: { readonly here?: Partial<BrokerOptions>; readonly other?: Partial<BrokerOptions> } = {},
): Pair {
  const network = createPeerNetwork(world.clock);
  const routes = createTestRoutes(network);
  const other = joinBroker(world, network, 'other', options.other);
  routes.to.set('all', [addressOf('other')]);
  return { network, routes, other, here: world.broker({ ...options.here, routes }) };
}

/** A store that counts its uploads, which take their time. */
export function countedStore(world: TestWorld, putMs = 10) {
  const counts = { puts: 0 };
  const store = interceptStore(world.store, async (call, make, signal) => {
    if (call.op === 'put') {
      counts.puts += 1;
      await world.clock.sleep(putMs, signal);
    }
    return make();
  });
  return { counts, store };
}

/** With keys all over the partitions. */
export const SPREAD = Array.from({ length: 40 }, (_, n) => [`k${n}`, `v${n}`] as const);

export const errorOf = (results: PublishResult): KelpError | undefined => results.find((result) => result instanceof KelpError);
