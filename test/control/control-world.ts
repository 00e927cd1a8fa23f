import { createControl, type ControlDeps, type ControlPlane } from '../../src/control/create-control.ts';
import { encodeProblem } from '../../src/format/peer-problem.ts';
import { type BrokerKind, IDLE } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { REBALANCE_MS } from '../../src/model/scaling-limits.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { Peers } from '../../src/ports/peers.ts';
import { createHeads } from '../../src/state/heads.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { brokerId } from './some-broker.ts';

/** The control plane of one process, in a world of its own clock and table. */
export type Site = {
  readonly id: BrokerId;
  readonly control: ControlPlane;
  readonly counts: ReadonlyMap<string, number>;
  readonly gauges: ReadonlyMap<string, number>;
  readonly logs: readonly string[];
  /** Calls of the table so far. */
  tableCalls(): number;
  readonly load: { busyPercent: number };
  start(): void;
  /** Ends its work as a process does that stops without leaving. */
  stop(): Promise<void>;
  /** As `kill -9`: nothing that it has asked for is answered, and nobody listens there. */
  kill(): void;
};

export type SiteOptions = {
  readonly kind?: BrokerKind;
  readonly zone?: string;
  /** Without a way to ask others. */
  readonly alone?: boolean;
  /** Where nobody reaches it. */
  readonly nameless?: boolean;
  readonly table?: MetadataTable;
};

export type ControlWorld = TestWorld & {
  site(id: string, options?: SiteOptions): Site;
  /** What was asked of whom, such as `b assign`. */
  readonly asked: readonly string[];
  /** Whom nobody reaches, though they reach others: a wrong address. */
  readonly unreachable: Set<string>;
  /** Passes time until it holds. */
  until(holds: () => boolean | Promise<boolean>): Promise<void>;
};

const STATUS = { ok: 200, failed: 500 } as const;
const refused = (id: string): KelpError => new KelpError('unavailable', 'peer-refused', `nobody listens at ${id}`);

export function createControlWorld(seed: number | string = 1): ControlWorld {
  const world = createTestWorld(seed);
  const sites = new Map<string, { readonly control: ControlPlane; readonly isDead: () => boolean }>();
  const asked: string[] = [];
  const unreachable = new Set<string>();

  const peers: Peers = {
    async send({ broker, operation, body }, signal) {
      signal.throwIfAborted();
      asked.push(`${broker.id} ${operation}`);
      const there = sites.get(broker.id);
      const run = there?.isDead() === false ? there.control.operations[operation] : undefined;
      if (run === undefined || unreachable.has(broker.id)) throw refused(broker.id);
      try {
        return { status: STATUS.ok, body: await run(Buffer.concat(body), signal) };
      } catch (error) {
        return { status: STATUS.failed, body: encodeProblem(error) };
      }
    },
  };

  function site(id: string, options: SiteOptions = {}): Site {
    const { kind = 'process', zone = '', alone = false, nameless = false } = options;
    const [counts, gauges, logs] = [new Map<string, number>(), new Map<string, number>(), [] as string[]];
    const load = { busyPercent: 0 };
    let calls = 0;
    let dead = false;
    const ends = new AbortController();
    const table = interceptTable(options.table ?? world.table, async (_, make) => {
      calls += 1;
      if (dead) return new Promise(() => undefined);
      const answer = await make();
      return dead ? new Promise(() => undefined) : answer;
    });
    const deps: ControlDeps = {
      table,
      heads: createHeads(table),
      clock: world.clock,
      random: world.random.fork(`${id} ${sites.size}`),
      telemetry: {
        count: (name, value) => void counts.set(name, (counts.get(name) ?? 0) + value),
        adjust: (name, delta) => void gauges.set(name, (gauges.get(name) ?? 0) + delta),
        record: () => undefined,
        log: (_, message) => void logs.push(message),
      },
      meter: { sample: () => ({ ...IDLE, ...load }) },
      pressure: { sample: () => [] },
      rebalanceMs: REBALANCE_MS,
      ...(alone ? {} : { peers }),
      ...(nameless ? {} : { self: { id: brokerId(id), url: `http://${id}:80`, kind, zone } }),
    };
    const control = createControl(deps);
    let running: Promise<void> = Promise.resolve();
    sites.set(id, { control, isDead: () => dead });
    return {
      id: brokerId(id),
      control,
      counts,
      gauges,
      logs,
      load,
      tableCalls: () => calls,
      start: () => void (running = control.run(ends.signal)),
      async stop() {
        ends.abort(new Error('stopped'));
        await world.run(running);
      },
      kill() {
        dead = true;
        ends.abort(new Error('killed'));
      },
    };
  }

  return {
    ...world,
    site,
    asked,
    unreachable,
    async until(holds) {
      for (let ms = 0; !(await holds()); ms += 50) {
        if (ms > 60_000) throw new Error('it does not become true within a minute');
        await world.clock.advance(50);
      }
    },
  };
}
