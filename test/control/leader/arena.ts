import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createLeaderFinder, type LeaderFinder } from '../../../src/control/leader/find-leader.ts';
import { createLeadership, type Leadership, type LeadershipDeps, type Term } from '../../../src/control/leader/leadership.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { untilAborted } from '../../faults/faulty-table.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { createSeededRandom, type SeededRandom } from '../../simulation/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../simulation/virtual-clock.ts';
import { createStoppable, type Stoppable } from './stoppable.ts';
import { createTermWatch, type TermWatch } from './term-watch.ts';

/** One that may lead. */
export type Contender = {
  readonly id: BrokerId;
  readonly leadership: Leadership;
  readonly finder: LeaderFinder;
  readonly process: Stoppable;
  readonly skew: { ms: number };
  /** Requests to the table, by operation. */
  readonly requests: Map<string, number>;
  readonly counts: Map<string, number>;
  readonly logs: string[];
  /** Contends for the lease, and leads by acting every 50 ms as long as its term says that it may. */
  begin(): void;
  /** Told to stop; resolves when it has. */
  end(): Promise<void>;
  /** As kill -9: it does nothing any more, and refuses connections. */
  kill(): void;
};

export type ContenderOptions = Partial<Pick<LeadershipDeps, 'leaseMs' | 'expires' | 'isReachable'>> & {
  readonly asks?: boolean;
  readonly frozen?: boolean;
  /** What its requests pass on their way. */
  readonly through?: (table: MetadataTable) => MetadataTable;
};

export type Arena = {
  readonly clock: VirtualClock;
  readonly table: MetadataTable;
  readonly random: SeededRandom;
  readonly terms: TermWatch;
  contender(name: string, options?: ContenderOptions): Contender;
  /** Who holds a valid lease now. */
  leaders(): BrokerId[];
  /** Passes time until this holds; how long it took. */
  until(holds: () => boolean): Promise<number>;
};

const ACT_MS = 50;
const UNTIL_MS_MAX = 120_000;

export function createArena(seed: number | string = 1): Arena {
  const clock = createVirtualClock();
  const random = createSeededRandom(seed);
  const table = createMemoryTable();
  const contenders = new Map<string, Contender>();
  const killed = new Set<string>();
  const terms = createTermWatch(() => clock.monotonicMs());

  /** A few milliseconds each way, so that no two requests are in step. */
  const distant = (near: MetadataTable, from: SeededRandom): MetadataTable =>
    interceptTable(near, async (_, make, signal) => {
      await clock.sleep(1 + from.integer(5), signal);
      const answer = await make();
      await clock.sleep(1 + from.integer(5), signal);
      return answer;
    });

  async function ask(leader: { readonly id: BrokerId }, signal: AbortSignal) {
    await clock.sleep(1, signal);
    const asked = contenders.get(leader.id);
    if (asked === undefined || killed.has(leader.id)) throw new KelpError('unavailable', 'peer-refused', 'nobody listens');
    if (asked.process.isStopped()) await untilAborted(signal);
    const current = asked.leadership.current();
    return current === undefined ? undefined : { epoch: current.term.epoch, version: current.version };
  }

  function contender(name: string, options: ContenderOptions = {}): Contender {
    const { asks = true, frozen = false, through = (near) => near, ...lease } = options;
    const skew = { ms: 0 };
    const process = createStoppable(clock, { frozen, skew });
    const own = random.fork(name);
    const { requests, counted } = counting(process.wrap(through(distant(table, own))));
    const id = name as BrokerId;
    const { telemetry, counts, logs } = createNotes();
    const finder = createLeaderFinder({ table: counted, clock: process.clock });
    const self = { id, url: `http://${name}` };
    const deps = { table: counted, clock: process.clock, random: own, telemetry, self, finder, ...lease };
    const leadership = createLeadership(asks ? { ...deps, askLeader: ask } : deps);
    const stop = new AbortController();
    let running: Promise<void> | undefined;
    terms.add(id, leadership);
    const made: Contender = {
      id,
      leadership,
      finder,
      process,
      skew,
      requests,
      counts,
      logs,
      begin: () => void (running = leadership.run((term) => act(made, term), stop.signal)),
      async end() {
        stop.abort(new Error('told to stop'));
        if (running !== undefined) await clock.run(running);
      },
      kill() {
        killed.add(id);
        process.stop();
      },
    };
    contenders.set(id, made);
    return made;
  }

  async function act({ id, process }: Contender, term: Term): Promise<void> {
    terms.begun(id, term);
    while (!term.signal.aborted) {
      terms.acted(id, term);
      await process.clock.sleep(ACT_MS, term.signal).catch(() => undefined);
    }
  }

  return {
    clock,
    table,
    random,
    terms,
    contender,
    leaders: () => [...contenders.values()].filter(({ leadership }) => leadership.current() !== undefined).map(({ id }) => id),
    async until(holds) {
      const fromMs = clock.monotonicMs();
      while (!holds()) {
        if (clock.monotonicMs() - fromMs > UNTIL_MS_MAX) throw new Error('it never came to hold');
        await clock.advance(5);
      }
      return clock.monotonicMs() - fromMs;
    },
  };
}

function counting(table: MetadataTable) {
  const requests = new Map<string, number>();
  const counted = interceptTable(table, ({ op }, make) => {
    requests.set(op, (requests.get(op) ?? 0) + 1);
    return make();
  });
  return { requests, counted };
}

export function createNotes() {
  const counts = new Map<string, number>();
  const logs: string[] = [];
  const telemetry = {
    count: (name: string, value: number) => void counts.set(name, (counts.get(name) ?? 0) + value),
    adjust: (name: string, delta: number) => void counts.set(name, (counts.get(name) ?? 0) + delta),
    record: () => undefined,
    log: (level: string, message: string) => void logs.push(`${level}: ${message}`),
  };
  return { telemetry, counts, logs };
}
