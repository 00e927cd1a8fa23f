import type { BrokerKind, BrokerRecord } from '../../model/broker.ts';
import { FLEET_PROBES_MAX, LEASE_MS } from '../../model/limits.ts';

// Whether a broker lives, from what the leader has seen of it. Clocks of others are never compared: an item's version moves, or
// stands still on the leader's own monotonic clock.

export type Verdict = 'alive' | 'unsure' | 'dead';

/** `failed`: nobody there who can do anything, no answer in time, or an odd one. */
export type Probe = 'answered' | 'failed';

/** What an answer says of the item: as good as a read of it. */
export type Shown = { readonly instance: string; readonly version: number; readonly answeredMs: number };

/** What the leader has seen of one broker. Times are monotonic milliseconds. */
export type Observation = {
  readonly kind: BrokerKind;
  readonly instance: string;
  readonly version: number;
  /** The answer of the first read, or probe, that showed this version. */
  readonly sinceMs: number;
  /** From then to the sending of the last read that still showed it: without reads, nothing stands still. */
  readonly stillMs: number;
  /** Whether this life of it has ever answered a probe. */
  readonly answered: boolean;
  /** Whether its version has moved before the leader's eyes: an item alone may be what a former life has left. */
  readonly moved: boolean;
  /** Probes in a row that failed, up to the last one. */
  readonly failed: number;
  /** A client or broker could not reach it, and neither could the leader since. */
  readonly reported: boolean;
};

/** What a read has shown. A version that moved, or another life of the process, begins a new time. */
export function afterRead(
  before: Observation | undefined,
  { kind, instance, version }: BrokerRecord,
  read: { readonly sentMs: number; readonly answeredMs: number },
): Observation {
  const same = before !== undefined && before.version === version && before.instance === instance;
  if (same) return { ...before, kind, stillMs: Math.max(before.stillMs, read.sentMs - before.sinceMs) };
  // Answered late: a probe has shown a newer one.
  if (before?.instance === instance && version < before.version) return { ...before, kind };
  const { failed, reported } = before ?? { failed: 0, reported: false };
  const isSameLife = before?.instance === instance;
  const answered = isSameLife && before.answered;
  return { kind, instance, version, sinceMs: read.answeredMs, stillMs: 0, answered, moved: isSameLife, failed, reported };
}

/** An answer forgives what was before. `shown`: where it says how far its heartbeats are. */
export function afterProbe(before: Observation, probe: Probe, shown?: Shown): Observation {
  if (probe === 'failed') return { ...before, failed: before.failed + 1 };
  const answered = { ...before, answered: true, failed: 0, reported: false };
  if (shown === undefined || shown.instance !== before.instance || shown.version <= before.version) return answered;
  return { ...answered, version: shown.version, sinceMs: shown.answeredMs, stillMs: 0, moved: true };
}

/** Somebody else could not reach it, either: it matters while it does not answer. */
export function afterReport(before: Observation): Observation {
  return { ...before, reported: before.failed > 0 };
}

/** It has let its leader's lease time out: nobody needs to watch it for another one. */
export function standingStill(observation: Observation): Observation {
  return { ...observation, sinceMs: observation.sinceMs - LEASE_MS, stillMs: observation.stillMs + LEASE_MS };
}

export function judge({ kind, stillMs, failed, reported }: Observation): Verdict {
  if (kind === 'fleet') return byFailures(failed, FLEET_PROBES_MAX);
  const isDead =
    (reported && failed >= 1) ||
    (stillMs >= LEASE_MS && failed >= 1) ||
    // It answers, but it can't write: no commit of it would land, either.
    stillMs >= 2 * LEASE_MS;
  if (isDead) return 'dead';
  return failed > 0 || stillMs >= LEASE_MS ? 'unsure' : 'alive';
}

function byFailures(failed: number, failedMax: number): Verdict {
  if (failed >= failedMax) return 'dead';
  return failed > 0 ? 'unsure' : 'alive';
}
