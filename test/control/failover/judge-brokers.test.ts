import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterProbe,
  afterRead,
  afterReport,
  judge,
  type Observation,
  type Probe,
  standingStill,
} from '../../../src/control/failover/judge-brokers.ts';
import {
  BROKER_PROBE_MS,
  BROKER_PROBE_MS_MAX,
  BROKERS_READ_MS,
  FLEET_PROBES_MAX,
  HEARTBEAT_MS,
  LEASE_MS,
} from '../../../src/model/limits.ts';
import { someBroker } from '../some-broker.ts';

const read = (before: Observation | undefined, version: number, ms: number): Observation =>
  afterRead(before, someBroker('b', { version }), { sentMs: ms, answeredMs: ms });
const probes = (from: Observation, ...results: readonly Probe[]): Observation =>
  results.reduce((seen, result) => afterProbe(seen, result), from);
const shows = (from: Observation, version: number, answeredMs: number): Observation =>
  afterProbe(from, 'answered', { instance: from.instance, version, answeredMs });

describe('a process', () => {
  const seen = read(undefined, 1, 0);

  test('that does not answer is dead only once its item has stood still for a lease', () => {
    const failing = probes(seen, 'failed', 'failed', 'failed', 'failed');
    expect(judge(failing)).toBe('unsure');
    expect(judge(read(failing, 1, LEASE_MS - 1))).toBe('unsure');
    expect(judge(read(failing, 1, LEASE_MS))).toBe('dead');
    expect(judge(read(failing, 2, LEASE_MS))).toBe('unsure');
    expect(judge(probes(read(failing, 1, LEASE_MS), 'answered'))).toBe('unsure');
  });

  test('is timed from the first answer or read that showed its version, whichever came first', () => {
    const shown = shows(seen, 2, 100);
    expect(shown).toMatchObject({ version: 2, sinceMs: 100, stillMs: 0 });
    const dying = probes(read(shown, 2, 1_000), 'failed');
    expect(judge(read(dying, 2, 100 + LEASE_MS - 1))).toBe('unsure');
    expect(judge(read(dying, 2, 100 + LEASE_MS))).toBe('dead');
    // A read that was answered late, and an answer that is older than a read, change nothing.
    expect(read(shown, 1, 200)).toEqual(shown);
    expect(shows(read(seen, 3, 300), 2, 400)).toMatchObject({ version: 3, sinceMs: 300 });
    expect(afterProbe(seen, 'answered', { instance: 'i-other', version: 9, answeredMs: 5 })).toMatchObject({ version: 1, sinceMs: 0 });
  });

  test('is seen to move by a read or an answer of the same life, and not by the item alone', () => {
    expect(seen.moved).toBe(false);
    expect(read(probes(seen, 'answered'), 1, 1_000).moved).toBe(false);
    expect(read(seen, 2, 1_000).moved).toBe(true);
    expect(shows(seen, 2, 100).moved).toBe(true);
    const other = afterRead(read(seen, 2, 1_000), someBroker('b', { version: 3, instance: 'i-other' }), {
      sentMs: 2_000,
      answeredMs: 2_000,
    });
    expect(other.moved).toBe(false);
  });

  test('that answers and does not write is dead after two leases', () => {
    const still = probes(read(seen, 1, LEASE_MS), 'answered');
    expect(judge(still)).toBe('unsure');
    expect(judge(probes(read(still, 1, 2 * LEASE_MS - 1), 'answered'))).toBe('unsure');
    expect(judge(probes(read(still, 1, 2 * LEASE_MS), 'answered'))).toBe('dead');
  });

  test('stands still by reads alone: without them, no time passes', () => {
    const slow = afterRead(seen, someBroker('b', { version: 1 }), { sentMs: 10, answeredMs: 10 * LEASE_MS });
    expect(slow.stillMs).toBe(10);
    expect(judge(probes(slow, 'failed'))).toBe('unsure');
  });

  test('of another life has not stood still', () => {
    const other = afterRead(seen, someBroker('b', { version: 1, instance: 'i-other' }), { sentMs: LEASE_MS, answeredMs: LEASE_MS });
    expect(judge(probes(other, 'failed'))).toBe('unsure');
  });

  test('that was reported is dead by one failed probe, and lives by one that was answered', () => {
    const reported = afterReport(probes(seen, 'failed'));
    expect(judge(reported)).toBe('dead');
    expect(judge(read(reported, 2, 1))).toBe('dead');
    expect(judge(probes(reported, 'answered'))).toBe('alive');
    expect(judge(probes(afterReport(probes(seen, 'answered')), 'failed'))).toBe('unsure');
  });

  test('whose lease as leader was timed out needs no second one', () => {
    const stopped = standingStill(seen);
    expect(judge(stopped)).toBe('unsure');
    expect(judge(probes(stopped, 'failed'))).toBe('dead');
    expect(judge(probes(read(stopped, 2, 100), 'failed'))).toBe('unsure');
  });
});

test('a fleet is dead by failed probes in a row alone', () => {
  const fleet = afterRead(undefined, someBroker('f', { kind: 'fleet' }), { sentMs: 0, answeredMs: 0 });
  const stood = afterRead(fleet, someBroker('f', { kind: 'fleet' }), { sentMs: 100 * LEASE_MS, answeredMs: 100 * LEASE_MS });
  expect(judge(stood)).toBe('alive');
  const failures = Array.from({ length: FLEET_PROBES_MAX }, (): Probe => 'failed');
  expect(judge(probes(stood, ...failures.slice(1)))).toBe('unsure');
  expect(judge(probes(stood, ...failures))).toBe('dead');
  expect(judge(probes(stood, ...failures.slice(1), 'answered', ...failures.slice(1)))).toBe('unsure');
});

/** What happens to a broker, as its leader sees it: time passes, then there is a read or a probe. */
const event = fc.record({ ms: fc.integer({ min: 0, max: BROKER_PROBE_MS }), isRead: fc.boolean() });

test('whoever answers and heartbeats is never dead, whenever it is looked at', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), fc.integer({ min: 0, max: HEARTBEAT_MS - 1 }), (events, phaseMs) => {
      let seen = read(undefined, 0, 0);
      let nowMs = 0;
      for (const { ms, isRead } of events) {
        nowMs += ms;
        const version = Math.floor((nowMs + phaseMs) / HEARTBEAT_MS);
        seen = isRead ? read(seen, version, nowMs) : shows(seen, version, nowMs);
        expect(judge(seen)).not.toBe('dead');
      }
    }),
  );
});

test('whoever has stopped is dead in time: by the leader’s own rounds, whenever in a round it was', () => {
  const boundMs = LEASE_MS + BROKER_PROBE_MS_MAX + 2 * BROKER_PROBE_MS;
  const phase = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(fc.boolean(), phase, phase, (listens, stopsAtMs, heartbeatMs) => {
      const version = (ms: number): number => Math.floor((Math.min(ms, stopsAtMs) + heartbeatMs) / HEARTBEAT_MS);
      let seen = read(undefined, version(0), 0);
      let readMs = 0;
      let nowMs = 0;
      for (let beginsMs = BROKER_PROBE_MS; judge(seen) !== 'dead'; beginsMs = Math.max(beginsMs + BROKER_PROBE_MS, nowMs)) {
        const answers = beginsMs <= stopsAtMs;
        seen = answers ? shows(seen, version(beginsMs), beginsMs) : probes(seen, 'failed');
        // A failure by time-out takes its time.
        nowMs = beginsMs + (answers || !listens ? 0 : BROKER_PROBE_MS_MAX);
        if (beginsMs - readMs >= BROKERS_READ_MS || judge(seen) === 'unsure') {
          seen = read(seen, version(nowMs), nowMs);
          readMs = nowMs;
        }
        expect(nowMs).toBeLessThanOrEqual(stopsAtMs + boundMs);
      }
      expect(nowMs).toBeGreaterThan(stopsAtMs);
    }),
  );
});
