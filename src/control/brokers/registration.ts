import { decodeBroker, encodeBroker, encodeLoad, encodePressure } from '../../format/broker-item.ts';
import { brokerKey } from '../../format/item-key.ts';
import { type BrokerAddress, type BrokerKind, type BrokerRecord, IDLE, isDraining } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import { HEARTBEAT_MS, LEADER_HEARTBEAT_MS, RETRY_AFTER_MS, WRITE_ATTEMPTS_MAX } from '../../model/limits.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LoadMeter } from '../../ports/load-meter.ts';
import type { Condition, Item, MetadataTable, Update } from '../../ports/metadata-table.ts';
import type { Random } from '../../ports/random.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { askAgain } from '../../state/ask-again.ts';
import type { PressureMeter } from '../../state/pressure-meter.ts';
import { backoffUnlessAborted } from '../../state/retry.ts';

/** This broker's own item: how the others know where it is, and that it lives. */
export type Registration = {
  /**
   * Registers and heartbeats until the signal aborts. Ends earlier when another process has registered under the same id, which
   * is logged and counted, and when it was drained. Deleted, since it was taken for dead, a process registers anew. An instance
   * of a fleet only registers; run again, it looks whether that still stands, and registers anew where it was taken for dead, but
   * not where it was drained: that is undone by the next start of any instance. Never rejects.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Says that it is being drained. False: another process has its id, or it is not registered. */
  drain(perSecond: number, signal: AbortSignal): Promise<boolean>;
  /** Deletes the item, if it is this instance's. */
  deregister(signal: AbortSignal): Promise<void>;
  /** Tells this life of the process from others of the same id; fleets have but one. */
  readonly instance: string;
  /** Of its item, as this life has written it last; 0 before. */
  version(): number;
};

export type RegistrationDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly self: BrokerAddress;
  readonly kind: BrokerKind;
  readonly zone: string;
  readonly meter: LoadMeter;
  readonly pressure: Pick<PressureMeter, 'sample'>;
  readonly isLeader: () => boolean;
  /** Whether it was told, in whatever way, that it is to be left: its next heartbeat says that it knows. */
  readonly isLeft?: () => boolean;
  /** Told of each state that was written. */
  readonly onWritten?: (broker: BrokerRecord) => void;
};

const INSTANCE_LENGTH = 16;
const FLEET_INSTANCE = 'fleet';

type Deps = RegistrationDeps & { readonly instance: string; readonly startedMs: number };
/** The state that was written last; undefined: the item is somebody else's, or was deleted by whoever drained it. */
type Written = BrokerRecord | undefined;

export function createRegistration(given: RegistrationDeps): Registration {
  const instance = given.kind === 'fleet' ? FLEET_INSTANCE : given.random.base36(INSTANCE_LENGTH);
  let version = 0;
  const onWritten = (broker: BrokerRecord): void => {
    version = broker.version;
    given.onWritten?.(broker);
  };
  const deps: Deps = { ...given, onWritten, instance, startedMs: given.clock.nowMs() };
  const key = brokerKey(TENANT_DEFAULT, deps.self.id);
  return {
    instance,
    version: () => version,
    async run(signal) {
      const isAgain = deps.kind === 'fleet' && version > 0;
      const begin = (): Promise<Written> =>
        isAgain ? stayRegistered(deps, version, signal) : register(deps, { over: true, version: 0 }, signal);
      let written = await untilAnswered(deps, begin, signal);
      while (written !== undefined && deps.kind === 'process' && !signal.aborted) {
        const before: BrokerRecord = written;
        written = await untilAnswered(deps, () => nextHeartbeat(deps, before, signal), signal);
      }
    },
    async drain(perSecond, signal) {
      const update: Update = {
        condition: isOurs(deps),
        changes: [
          { op: 'set', path: ['drain'], value: perSecond },
          { op: 'add', path: ['version'], value: 1 },
        ],
      };
      const result = await askAgain(deps, () => deps.table.update(key, update, signal), signal);
      if (result.applied) tell(deps, result.item);
      return result.applied;
    },
    async deregister(signal) {
      await askAgain(deps, () => deps.table.delete(key, isOurs(deps), signal), signal);
    },
  };
}

const isOurs = (deps: Deps): Condition => [{ op: '=', path: ['instance'], value: deps.instance }];

/**
 * At the start over whatever is there: a broker that comes back under its id keeps its segments. The version goes on, so that
 * nobody who has watched the former life takes this one for it. Undefined: not `over`, and another process has the id.
 */
async function register(
  deps: Deps,
  { over, version }: { readonly over: boolean; readonly version: number },
  signal: AbortSignal,
): Promise<Written> {
  const key = brokerKey(TENANT_DEFAULT, deps.self.id);
  let there = await deps.table.get(key, signal);
  for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt += 1) {
    const old = there === undefined ? undefined : decodeBroker(there);
    if (old !== undefined && isRegistered(deps, old) && !(over && old.drained)) return (deps.onWritten?.(old), old);
    if (old !== undefined && !over) return lost(deps, old);
    const record = recordOf(deps, Math.max(version, old?.version ?? 0) + 1);
    const result = await askAgain(deps, () => deps.table.put(key, encodeBroker(record), conditionOf(old), signal), signal);
    if (result.applied) {
      deps.telemetry.log('info', 'registered', { broker: record.id, url: record.url, zone: record.zone, instance: record.instance });
      return tell(deps, result.item);
    }
    there = result.item;
  }
  throw new KelpError('unavailable', 'unavailable', 'others register under the same id', { retryAfterMs: RETRY_AFTER_MS });
}

/** By a lost attempt of this life; or, of a fleet, by any instance of it. */
function isRegistered({ self, kind, zone, instance }: Deps, old: BrokerRecord): boolean {
  return old.instance === instance && old.url === self.url && old.kind === kind && old.zone === zone;
}

function conditionOf(old: BrokerRecord | undefined): Condition {
  if (old === undefined) return [{ op: 'missing', path: ['instance'] }];
  return [
    { op: '=', path: ['instance'], value: old.instance },
    { op: '=', path: ['version'], value: old.version },
  ];
}

function recordOf(deps: Deps, version: number): BrokerRecord {
  const { self, kind, zone, instance, startedMs } = deps;
  const [load, pressure] = kind === 'fleet' ? [IDLE, []] : [deps.meter.sample(), deps.pressure.sample()];
  return { ...self, kind, zone, instance, version, load, pressure, startedMs, heartbeatMs: deps.clock.nowMs() };
}

/** A leader's lease says that it lives, so its item is written less often; once it leads no more, as often as any other's. */
async function nextHeartbeat(deps: Deps, before: BrokerRecord, signal: AbortSignal): Promise<Written> {
  for (let restMs = LEADER_HEARTBEAT_MS; restMs > 0; restMs -= HEARTBEAT_MS) {
    await deps.clock.sleep(HEARTBEAT_MS, signal);
    if (!deps.isLeader() || deps.isLeft?.() === true) break;
  }
  return heartbeat(deps, before, signal);
}

async function heartbeat(deps: Deps, before: BrokerRecord, signal: AbortSignal): Promise<Written> {
  const update: Update = {
    condition: isOurs(deps),
    changes: [
      { op: 'set', path: ['load'], value: encodeLoad(deps.meter.sample()) },
      { op: 'set', path: ['pressure'], value: encodePressure(deps.pressure.sample()) },
      { op: 'set', path: ['heartbeat'], value: deps.clock.nowMs() },
      { op: 'add', path: ['version'], value: 1 },
    ],
  };
  const key = brokerKey(TENANT_DEFAULT, deps.self.id);
  const result = await askAgain(deps, () => deps.table.update(key, update, signal), signal);
  if (result.applied) return tell(deps, result.item);
  if (result.item !== undefined) return lost(deps, decodeBroker(result.item));
  if (isDraining(before)) {
    deps.telemetry.log('info', 'drained', { broker: deps.self.id });
    return undefined;
  }
  return registerAnew(deps, before.version, signal);
}

/** Of a fleet: whatever is there is its own, be it the mark of a drain, or a later deployment's at another address. */
async function stayRegistered(deps: Deps, version: number, signal: AbortSignal): Promise<Written> {
  const there = await deps.table.get(brokerKey(TENANT_DEFAULT, deps.self.id), signal);
  return there === undefined ? registerAnew(deps, version, signal) : decodeBroker(there);
}

/** Its item was deleted, and not since it was drained. */
function registerAnew(deps: Deps, version: number, signal: AbortSignal): Promise<Written> {
  deps.telemetry.count('kelp.registrations.deleted', 1);
  deps.telemetry.log('warn', 'this broker was taken for dead, and registers anew', { broker: deps.self.id });
  return register(deps, { over: false, version }, signal);
}

function lost(deps: Deps, other: BrokerRecord): undefined {
  deps.telemetry.count('kelp.registrations.lost', 1);
  deps.telemetry.log('error', 'another process has registered under the same id', {
    broker: other.id,
    url: other.url,
    instance: other.instance,
  });
}

function tell(deps: Deps, item: Item): BrokerRecord {
  const record = decodeBroker(item);
  deps.onWritten?.(record);
  return record;
}

/** The loop must outlive any failure: without its heartbeats, a broker is dead. Undefined once the signal aborts. */
async function untilAnswered(deps: Deps, ask: () => Promise<Written>, signal: AbortSignal): Promise<Written> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) return undefined;
      deps.telemetry.count('kelp.heartbeats.failed', 1);
      deps.telemetry.log('warn', 'a heartbeat failed', { broker: deps.self.id, error });
      await backoffUnlessAborted(deps, attempt, signal);
    }
  }
  return undefined;
}
