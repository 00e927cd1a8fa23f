import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdLease } from '../../../src/control/leader/held-lease.ts';
import { createLeaseSight } from '../../../src/control/leader/lease-sight.ts';
import { type Claim, release, renew } from '../../../src/control/leader/lease-steps.ts';
import { look, type Wait, type WaitDeps } from '../../../src/control/leader/wait-for-lease.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { type Holding, leasePace, type LeaseWatch, validForMs } from '../../../src/protocol/lease.ts';
import { type Call, recordingTable } from '../engine/process.ts';
import type { Answer, Request } from '../engine/shared-table.ts';
import { NEVER_ABORTED } from './broker.ts';

/** Who wants to lead. Its monotonic clock begins anywhere; its wall clock is off by `skewMs`. */
export type Contender = {
  readonly name: string;
  readonly broker: string;
  readonly startMs: number;
  readonly skewMs: number;
  readonly leaseMs: number;
  /** It doesn't renew, and goes by expiry times. */
  readonly expires: boolean;
  /** Attempts to take the lease. */
  readonly claimsMax: number;
  /** A word of its own for each attempt to take the lease; without, always the broker's id. */
  readonly nonces: boolean;
};

/** All that it knows between two steps. `ended`: the holder of a term that it gave up. */
export type Memory = {
  readonly watch?: LeaseWatch;
  readonly claims: readonly Claim[];
  readonly holding?: Holding;
  readonly ended?: string;
  readonly nonces: number;
};
export const START: Memory = { claims: [], nonces: 0 };

/** A look at the lease, with what it allows; a renewal; the end of a term. */
export type Action = 'look' | 'renew' | 'release';
export type Heard = { readonly answer: Answer; readonly nowMs: number };
/** A step as far as it has come. */
export type StepCall = { readonly memory: Memory; readonly action: Action; readonly nowMs: number; readonly heard: readonly Heard[] };
/** What it waits for, or what it knows at its end. */
export type Outcome = { readonly request: Request } | { readonly memory: Memory };

export const isLeader = ({ startMs, skewMs }: Contender, { holding }: Memory, nowMs: number): boolean =>
  holding !== undefined && validForMs(holding, { nowMs: startMs + nowMs, wallMs: nowMs + skewMs }) > 0;

/** What it may do next, at whatever pace: whoever is slow, or frozen, does nothing while time passes. */
export function actionsOf(contender: Contender, memory: Memory, nowMs: number): Action[] {
  const mayClaim = memory.nonces < contender.claimsMax || memory.claims.length > 0;
  if (memory.holding === undefined) return mayClaim ? ['look'] : [];
  if (!isLeader(contender, memory, nowMs)) return ['release'];
  const { leaseMs, sentMs } = memory.holding;
  const isDue = contender.startMs + nowMs - sentMs >= leasePace(leaseMs).renewMs;
  return isDue && !contender.expires ? ['renew', 'release'] : ['release'];
}

/** Runs a step from its beginning with what it has heard so far. */
export async function play(contender: Contender, { memory, action, nowMs, heard }: StepCall): Promise<Outcome> {
  const time = { nowMs };
  const calls: Call[] = [];
  let end: Memory | undefined;
  let failure: unknown;
  ACTIONS[action](stepDeps(contender, recordingTable(calls), time, memory.nonces), memory).then(
    (next) => (end = next),
    (error: unknown) => (failure = error),
  );
  await nextTurn();
  for (const [index, { answer, nowMs: heardMs }] of heard.entries()) {
    time.nowMs = heardMs;
    calls[index]?.settle(answer);
    await nextTurn();
  }
  if (failure !== undefined) throw new Error(`${contender.name} failed: ${String(failure)}`, { cause: failure });
  if (end !== undefined) return { memory: end };
  const call = calls[heard.length];
  if (call === undefined) throw new Error(`${contender.name} waits for nothing`);
  return { request: call.request };
}

type Deps = { readonly wait: WaitDeps; readonly nonces: () => number };

const ACTIONS: Readonly<Record<Action, (deps: Deps, memory: Memory) => Promise<Memory>>> = {
  async look({ wait: deps, nonces }, memory) {
    const { sight } = deps;
    if (memory.watch !== undefined) sight.saw(memory.watch);
    if (memory.ended !== undefined) sight.ended(memory.ended);
    const wait: Wait = { claims: memory.claims, failures: 0 };
    const held = await orUnanswered(look(deps, wait, NEVER_ABORTED));
    const watch = sight.watch();
    const { holding: _, ...rest } = memory;
    return {
      ...rest,
      claims: wait.claims,
      nonces: nonces(),
      ...(watch === undefined ? {} : { watch }),
      ...(held === undefined ? {} : { holding: held.holding() }),
    };
  },
  async renew({ wait: deps }, memory) {
    const held = holdLease(deps.clock, memory.holding as Holding);
    const answer = await orUnanswered(renew(deps, held.holding(), NEVER_ABORTED));
    if (answer !== undefined) held.renewed(answer.holding);
    return afterHolding(memory, held.isValid() ? held.holding() : undefined, answer?.watch);
  },
  async release({ wait: deps }, memory) {
    const holding = memory.holding as Holding;
    const watch = await orUnanswered(release(deps, holding, NEVER_ABORTED));
    return { ...afterHolding(memory, undefined, watch), ended: holding.holder };
  },
};

function afterHolding(memory: Memory, holding: Holding | undefined, watch: LeaseWatch | undefined): Memory {
  const { holding: _, ...rest } = memory;
  return { ...rest, ...(holding === undefined ? {} : { holding }), ...(watch === undefined ? {} : { watch }) };
}

async function orUnanswered<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof KelpError) return undefined;
    throw error;
  }
}

function stepDeps(contender: Contender, table: MetadataTable, time: { readonly nowMs: number }, used: number): Deps {
  const { name, broker, startMs, skewMs, leaseMs, expires } = contender;
  let nonces = used;
  const clock: Clock = {
    nowMs: () => time.nowMs + skewMs,
    monotonicMs: () => startMs + time.nowMs,
    // Nothing in a step waits for time; bounds of its requests are over when the search says so.
    sleep: () => new Promise(() => {}),
    deadline: () => NEVER_ABORTED,
  };
  const nonce = (): string => {
    nonces += 1;
    return contender.nonces ? `${name}${nonces}` : broker;
  };
  const base = {
    table,
    clock,
    random: { base36: nonce, fraction: () => 0 },
    telemetry: { count: () => {}, adjust: () => {}, record: () => {}, log: () => {} },
    self: { id: broker as BrokerId, url: '' },
    finder: { find: async () => undefined, forget: () => {}, learn: () => {} },
    leaseMs,
    expires,
  };
  const sight = createLeaseSight(base);
  return { wait: { ...base, sight, saw: sight.saw }, nonces: () => nonces };
}
