import { KelpError } from '../../src/model/errors.ts';
import { createFaultyStore } from '../faults/faulty-store.ts';
import { createFaultyTable, untilAborted } from '../faults/faulty-table.ts';
import { type FaultMix, randomStoreFaults, randomTableFaults } from '../faults/random-faults.ts';
import type { Choose } from '../faults/choose.ts';
import { interceptStore, interceptTable, type Make, type StoreCall, type TableCall } from './intercept.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TestBroker, TestWorld } from './test-broker.ts';

export type FleetOptions = {
  readonly brokers: number;
  /** Faults of each broker's stores. */
  readonly faults: FaultMix;
  /** Mean time between two crashes of any broker; they come back after a while. */
  readonly crashMs: number;
  /** How far wall clocks are off, and jump. */
  readonly skewMsMax: number;
};

/** One life of a broker. `died` resolves when it is killed: nothing that it has begun is answered any more. */
export type Life = { readonly broker: TestBroker; readonly died: Promise<'died'>; kill(): void };

export type Fleet = {
  /** Any broker that lives. */
  any(): Life;
  /** Ends faults, crashes and jumps, and brings everybody back. */
  calm(): void;
  killAll(): void;
  crashes(): number;
  /** Calls of stores that met a fault. */
  faults(): number;
};

const TRAVEL_MS_MAX = 8;
const RESTART_MS_MAX = 3_000;
const LIVES_MIN = 1;
const JUMP_MS_MAX = 20_000;

/** Brokers on shared stores, each with its own faults, clock and deaths. */
export function createFleet(world: TestWorld, random: SeededRandom, options: FleetOptions): Fleet {
  const lives: Life[] = [];
  const counts = { crashes: 0, faults: 0, lives: 0 };
  let isCalm = false;

  const unlessCalm =
    <Call, Fault>(choose: Choose<Call, Fault>): Choose<Call, Fault> =>
    (call) => {
      const fault = isCalm ? undefined : choose(call);
      if (fault !== undefined) counts.faults += 1;
      return fault;
    };

  function start(): Life {
    counts.lives += 1;
    const own = random.fork(`life ${counts.lives}`);
    const mortality = createMortality();
    const network = { clock: world.clock, random: own.fork('network') };
    const table = createFaultyTable(interceptTable(world.table, travelling(network)), {
      choose: unlessCalm(randomTableFaults(own.fork('table'), options.faults)),
      clock: world.clock,
    });
    const store = createFaultyStore(interceptStore(world.store, travelling(network)), {
      choose: unlessCalm(randomStoreFaults(own.fork('store'), options.faults)),
      clock: world.clock,
    });
    const skew = { ms: jump(own, options.skewMsMax) };
    const broker = world.broker({
      table: interceptTable(table, mortality.around),
      store: interceptStore(store, mortality.around),
      clock: world.clock.skewed(skew),
      random: own,
      wrapped: true,
    });
    void jumpNowAndThen(own.fork('clock'), skew);
    return { broker, died: mortality.died, kill: mortality.kill };
  }

  async function jumpNowAndThen(own: SeededRandom, skew: { ms: number }): Promise<void> {
    for (;;) {
      await world.clock.sleep(own.integer(JUMP_MS_MAX), world.signal);
      if (isCalm) return;
      skew.ms = jump(own, options.skewMsMax);
    }
  }

  async function crashNowAndThen(): Promise<void> {
    const own = random.fork('crashes');
    for (;;) {
      await world.clock.sleep(own.integer(2 * options.crashMs), world.signal);
      if (isCalm) return;
      if (lives.length <= LIVES_MIN) continue;
      const [killed] = lives.splice(own.integer(lives.length), 1);
      killed?.kill();
      counts.crashes += 1;
      await world.clock.sleep(own.integer(RESTART_MS_MAX), world.signal);
      lives.push(start());
    }
  }

  while (lives.length < options.brokers) lives.push(start());
  void crashNowAndThen();
  const chooser = random.fork('chooser');
  return {
    any() {
      const life = lives[chooser.integer(lives.length)];
      if (life === undefined) throw new Error('nobody lives');
      return life;
    },
    calm() {
      isCalm = true;
    },
    killAll() {
      for (const life of lives.splice(0)) life.kill();
    },
    crashes: () => counts.crashes,
    faults: () => counts.faults,
  };
}

const jump = (random: SeededRandom, msMax: number): number => Math.round((random.fraction() * 2 - 1) * msMax);

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
    async around<R>(_call: TableCall | StoreCall, make: Make<R>): Promise<R> {
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
