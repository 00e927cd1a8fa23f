import { KelpError } from '../../src/model/errors.ts';
import type { MemberAddress } from '../../src/control/member.ts';
import type { PeerOperation, Peers } from '../../src/ports/peers.ts';
import { createFaultyStore } from '../faults/faulty-store.ts';
import { createFaultyTable, untilAborted } from '../faults/faulty-table.ts';
import { type FaultMix, randomStoreFaults, randomTableFaults } from '../faults/random-faults.ts';
import type { Choose } from '../faults/choose.ts';
import { createFreezer } from './freezer.ts';
import { interceptStore, interceptTable, type Make, type StoreCall, type TableCall } from './intercept.ts';
import { faultyPeers } from './peer-faults.ts';
import type { PeerNetwork } from './peer-network.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TestBroker, TestWorld } from './test-broker.ts';

/**
 * One life of a broker. `died` resolves when it is killed: nothing that it has begun is answered any more. Frozen, it stands
 * still until it is thawed.
 */
export type Life = {
  readonly broker: TestBroker;
  readonly died: Promise<'died'>;
  /** Once it does not stand still. */
  thawed(): Promise<void>;
  kill(): void;
  freeze(): void;
  thaw(): void;
};

export type LifeOptions = {
  readonly random: SeededRandom;
  readonly faults: FaultMix;
  /** Decides on each call of a store that would meet a fault, and on each request to another broker. */
  readonly unlessCalm: <Call, Fault>(choose: Choose<Call, Fault>) => Choose<Call, Fault>;
  readonly peersShare: () => number;
  /** How far its wall clock is off now. */
  readonly skew: { readonly ms: number };
  /** Where it is one of several that know each other. */
  readonly member?: { readonly self: MemberAddress; readonly network: PeerNetwork; readonly rebalanceMs: number };
};

const TRAVEL_MS_MAX = 8;

export function createLife(world: TestWorld, { random, faults, unlessCalm, peersShare, skew, member }: LifeOptions): Life {
  const mortality = createMortality();
  const freezer = createFreezer();
  const network = { clock: world.clock, random: random.fork('network') };
  const faultyTable = createFaultyTable(interceptTable(world.table, travelling(network)), {
    choose: unlessCalm(randomTableFaults(random.fork('table'), faults)),
    clock: world.clock,
  });
  const faultyStore = createFaultyStore(interceptStore(world.store, travelling(network)), {
    choose: unlessCalm(randomStoreFaults(random.fork('store'), faults)),
    clock: world.clock,
  });
  const around = <R>(call: unknown, make: Make<R>): Promise<R> => freezer.around(call, () => mortality.around(make));
  const peers = faultyPeers(member?.network.peers ?? nobody, {
    clock: world.clock,
    random: random.fork('peers'),
    share: peersShare,
    msMax: faults.msMax,
    travelMsMax: TRAVEL_MS_MAX,
  });
  const aroundPeers: Peers = { send: (request, signal) => around(request, () => peers.send(request, signal)) };
  const broker = world.broker({
    table: interceptTable(faultyTable, around),
    store: interceptStore(faultyStore, around),
    clock: freezer.clock(world.clock.skewed(skew)),
    random,
    wrapped: true,
    ...(member === undefined ? {} : { member: { self: member.self, rebalanceMs: member.rebalanceMs, peers: aroundPeers } }),
  });
  const life: Life = {
    broker,
    died: mortality.died,
    thawed: freezer.thawed,
    freeze: freezer.freeze,
    thaw: freezer.thaw,
    kill() {
      mortality.kill();
      freezer.freeze();
      if (member !== undefined) member.network.leave(member.self.url);
    },
  };
  if (broker.member !== undefined) {
    member?.network.join(member.self, heardBy(life, broker.member.operations));
    void broker.member.control.run(world.signal);
  }
  return life;
}

const nobody = { send: () => Promise.reject(new Error('it knows no other brokers')) };

/** What others ask of it: it hears them once it does not stand still, and its end breaks their connections. */
function heardBy(life: Life, operations: Readonly<Record<string, PeerOperation>>): Record<string, PeerOperation> {
  const broken = (): Promise<never> =>
    life.died.then(() => Promise.reject(new KelpError('indefinite', 'peer-indefinite', 'it was killed')));
  const heard =
    (operation: PeerOperation): PeerOperation =>
    async (body, signal) => {
      const answer = async (): ReturnType<PeerOperation> => {
        await life.thawed();
        const answered = await operation(body, signal);
        await life.thawed();
        return answered;
      };
      return Promise.race([answer(), broken()]);
    };
  return Object.fromEntries(Object.entries(operations).map(([name, operation]) => [name, heard(operation)]));
}

/** A call takes its way to the store and back; who gives up on the way does not call it back. */
function travelling({ clock, random }: { readonly clock: TestWorld['clock']; readonly random: SeededRandom }) {
  const forEver = new AbortController().signal;
  return async <R>(call: TableCall | StoreCall, make: Make<R>, signal: AbortSignal): Promise<R> => {
    const go = async (): Promise<R> => {
      await clock.sleep(random.integer(TRAVEL_MS_MAX), forEver);
      const result = await make('detached');
      await clock.sleep(random.integer(TRAVEL_MS_MAX), forEver);
      return result;
    };
    return Promise.race([go(), untilAborted(signal)]).catch((error: unknown) => {
      // As the port says: a write that was sent is indefinite.
      const isWrite = 'name' in call && (call.op === 'put' || call.op === 'update' || call.op === 'delete');
      throw isWrite && signal.aborted ? new KelpError('indefinite', 'table-indefinite', 'given up', { cause: error }) : error;
    });
  };
}

function createMortality() {
  const { promise: died, resolve } = Promise.withResolvers<'died'>();
  let isDead = false;
  const never = <R>(): Promise<R> => new Promise<R>(() => undefined);
  return {
    died,
    kill(): void {
      isDead = true;
      resolve('died');
    },
    async around<R>(make: Make<R>): Promise<R> {
      if (isDead) return never<R>();
      try {
        const result = await make();
        return isDead ? never<R>() : result;
      } catch (error) {
        if (isDead) return never<R>();
        throw error;
      }
    },
  };
}
