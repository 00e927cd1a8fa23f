import { describe, expect, test } from 'vitest';
import { createAskLeader, type OwnService } from '../../src/control/ask-leader.ts';
import type { LeaderService } from '../../src/control/control.ts';
import { createWithLeader } from '../../src/control/leader/with-leader.ts';
import { notLeader } from '../../src/control/not-leader.ts';
import { encodeMessage } from '../../src/control/peer-messages.ts';
import { encodeProblem } from '../../src/format/peer-problem.ts';
import type { Leader } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { ATTEMPT_MS_MAX, TIMEOUT_MS_DEFAULT } from '../../src/model/limits.ts';
import type { PeerAnswer } from '../../src/ports/peers.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';
import { brokerId } from './some-broker.ts';

const TOPIC = { id: 'tz7unqpl8fj8enug' as TopicId, name: 'orders' };
const SEGMENT = segmentId(0);
const leaderOf = (id: string, epoch = 1): Leader => ({ id: brokerId(id), url: `http://${id}`, epoch });
const answers = (...brokers: readonly string[]): PeerAnswer => ({ status: 200, body: encodeMessage({ brokers }) });
const fails = (error: KelpError): PeerAnswer => ({ status: 503, body: encodeProblem(error) });
const refusal = new KelpError('unavailable', 'peer-refused', 'nobody listens');
const silence = (signal: AbortSignal) =>
  new Promise<PeerAnswer>((_, reject) => {
    const onAbort = () => reject(new KelpError('indefinite', 'peer-indefinite', 'cut', { cause: signal.reason }));
    signal.addEventListener('abort', onAbort, { once: true });
  });

const NO_LOADS = { segments: [], hotKeys: [] };

type Peer = (id: string, attempt: number, signal: AbortSignal) => Promise<PeerAnswer> | PeerAnswer;

function asking(peer: Peer, options: { readonly leader?: Leader; readonly own?: OwnService } = {}) {
  const clock = createVirtualClock();
  const asked: string[] = [];
  const state = { leader: options.leader, forgotten: 0 };
  const finder = {
    find: (signal: AbortSignal) => (signal.throwIfAborted(), Promise.resolve(state.leader)),
    forget: () => void (state.forgotten += 1),
    learn: () => undefined,
  };
  const service = createAskLeader({
    clock,
    finder,
    withLeader: createWithLeader({ clock, random: createSeededRandom(1), finder }),
    own: options.own,
    peers: {
      async send({ broker, operation }, signal) {
        asked.push(`${broker.id} ${operation}`);
        return peer(broker.id, asked.length, signal);
      },
    },
  });
  const assign = (signal: AbortSignal = new AbortController().signal) => service.assign(TOPIC, SEGMENT, signal);
  return { clock, asked, state, assign, service };
}

function ownOf(id: string, work: () => Promise<readonly string[]>, leadOnce?: OwnService['leadOnce']): OwnService {
  const never = () => Promise.reject(new Error('not asked for'));
  const service: LeaderService = {
    assign: async () => (await work()).map(brokerId),
    suspect: never,
    drain: never,
    change: never,
    rebalance: async () => (await work(), []),
    nudge: async () => void (await work()),
    loads: async () => (await work(), NO_LOADS),
  };
  return { self: { id: brokerId(id), url: `http://${id}` }, service, ...(leadOnce === undefined ? {} : { leadOnce }) };
}

describe('the leader', () => {
  test('that is another broker is asked once, and its answer is the answer', async () => {
    const { clock, asked, assign } = asking(() => answers('b', 'c'), { leader: leaderOf('l') });
    expect(await clock.run(assign())).toEqual(['b', 'c']);
    expect(asked).toEqual(['l assign']);
  });

  test('that is this broker is asked by no request', async () => {
    const own = ownOf('l', () => Promise.resolve(['x']));
    const { clock, asked, assign } = asking(() => answers('b'), { leader: leaderOf('l'), own });
    expect(await clock.run(assign())).toEqual(['x']);
    expect(asked).toEqual([]);
  });

  test('that has changed, or is gone, is looked for anew', async () => {
    const { clock, asked, state, assign } = asking(
      (id, attempt) => {
        if (attempt === 1) return fails(notLeader());
        if (attempt === 2) throw refusal;
        return id === 'm' ? answers('b') : fails(notLeader());
      },
      { leader: leaderOf('l') },
    );
    const work = assign();
    await clock.advance(0);
    state.leader = leaderOf('m', 2);
    expect(await clock.run(work)).toEqual(['b']);
    expect(asked).toEqual(['l assign', 'm assign', 'm assign']);
    expect(state.forgotten).toBe(2);
  });

  test('that is frozen costs one attempt, not the caller’s whole time', async () => {
    const { clock, asked, state, assign } = asking((id, _, signal) => (id === 'l' ? silence(signal) : answers('b')), {
      leader: leaderOf('l'),
    });
    const work = assign();
    await clock.advance(ATTEMPT_MS_MAX / 2);
    state.leader = leaderOf('m', 2);
    expect(await clock.run(work)).toEqual(['b']);
    expect(asked).toEqual(['l assign', 'm assign']);
    expect(clock.monotonicMs()).toBeLessThan(ATTEMPT_MS_MAX + 1_000);
  });

  test('that has decided is not asked again', async () => {
    for (const [kind, code] of [
      ['unavailable', 'no-brokers'],
      ['conflict', 'last-broker'],
      ['not-found', 'segment-not-found'],
    ] as const) {
      const { clock, asked, assign } = asking(() => fails(new KelpError(kind, code, 'no')), { leader: leaderOf('l') });
      await expect(clock.run(assign())).rejects.toMatchObject({ kind, code });
      expect(asked).toHaveLength(1);
    }
  });

  test('that never comes is waited for within a bound; the caller’s end passes unchanged', async () => {
    const { clock, assign } = asking(() => answers());
    await expect(clock.run(assign())).rejects.toMatchObject({ kind: 'unavailable', code: 'no-leader' });
    expect(clock.monotonicMs()).toBe(TIMEOUT_MS_DEFAULT);
    const ends = new AbortController();
    const reason = assign(ends.signal).catch((error: unknown) => error);
    await clock.advance(100);
    const gone = new Error('gone');
    ends.abort(gone);
    expect(await reason).toBe(gone);
  });
});

describe('an instance that leads only for a call', () => {
  const leading: NonNullable<OwnService['leadOnce']> = (work) => work();

  test('asks the leader that is there', async () => {
    const own = ownOf('f', () => Promise.resolve(['x']), leading);
    const { clock, asked, assign } = asking(() => answers('b'), { leader: leaderOf('l'), own });
    expect(await clock.run(assign())).toEqual(['b']);
    expect(asked).toEqual(['l assign']);
  });

  test('leads itself where nobody does, or whoever did is gone', async () => {
    const own = ownOf('f', () => Promise.resolve(['x']), leading);
    for (const leader of [undefined, leaderOf('l'), { ...leaderOf('l'), url: '' }]) {
      const { clock, asked, assign } = asking(() => Promise.reject(refusal), { own, ...(leader === undefined ? {} : { leader }) });
      expect(await clock.run(assign())).toEqual(['x']);
      expect(asked).toEqual(leader?.url === 'http://l' ? ['l assign'] : []);
    }
  });

  test('does not lead because the leader said no', async () => {
    const own = ownOf('f', () => Promise.resolve(['x']), leading);
    const refuses = fails(new KelpError('unavailable', 'no-brokers', 'no'));
    const { clock, assign } = asking(() => refuses, { leader: leaderOf('l'), own });
    await expect(clock.run(assign())).rejects.toMatchObject({ code: 'no-brokers' });
  });

  test('that a leader refuses, and that waits for the lease in vain, says why at the end of its request', async () => {
    const request = new AbortController();
    const leadOnce = (_: unknown, signal: AbortSignal) =>
      new Promise<never>((__, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
    const own = ownOf('me', () => Promise.resolve([]), leadOnce);
    const { clock, assign } = asking(() => Promise.reject(refusal), { leader: leaderOf('l'), own });
    const asked = assign(request.signal).catch((error: unknown) => error);
    await clock.advance(1_000);
    request.abort(new KelpError('unavailable', 'timeout', 'the request was not done within its time'));
    expect(await asked).toMatchObject({ code: 'no-leader', message: 'no leader answered in time: nobody listens', cause: refusal });
  });

  test('that has no time to wait for the lease says what its caller’s end says', async () => {
    const own = ownOf(
      'f',
      () => Promise.resolve([]),
      (_, signal) => silence(signal).then(() => Promise.reject(new Error('unreachable'))),
    );
    const { clock, assign } = asking(() => answers(), { own });
    const ends = new AbortController();
    const reason = assign(ends.signal).catch((error: unknown) => error);
    await clock.advance(10);
    const gone = new Error('gone');
    ends.abort(gone);
    expect(await reason).toBe(gone);
  });
});

describe('a look at all topics', () => {
  const found: PeerAnswer = { status: 200, body: encodeMessage({ topics: [] }) };

  test('may take the leader longer than anything else, and is not begun anew meanwhile', async () => {
    const { clock, asked, service } = asking(
      (_, attempt, signal) =>
        attempt === 1 ? Promise.race([silence(signal), clock.sleep(ATTEMPT_MS_MAX * 3, signal).then(() => found)]) : found,
      { leader: leaderOf('l') },
    );
    expect(await clock.run(service.rebalance({ dryRun: true }, new AbortController().signal))).toEqual([]);
    expect(asked).toEqual(['l rebalance']);
    expect(clock.monotonicMs()).toBe(ATTEMPT_MS_MAX * 3);
  });

  test('is taken by this instance where nobody leads, if it may lead for a call', async () => {
    const own = ownOf(
      'f',
      () => Promise.resolve([]),
      (work) => work(),
    );
    const { clock, asked, service } = asking(() => found, { own });
    expect(await clock.run(service.rebalance({ dryRun: false }, new AbortController().signal))).toEqual([]);
    expect(asked).toEqual([]);
  });
});

describe.each(['nudge', 'loads'] as const)('%s', (operation) => {
  const { signal } = new AbortController();
  const send = (service: LeaderService): Promise<unknown> =>
    operation === 'loads' ? service.loads(TOPIC.id, signal) : service.nudge(TOPIC.id, [], signal);
  const answer: PeerAnswer = { status: 200, body: encodeMessage(operation === 'loads' ? NO_LOADS : {}) };
  const expected = operation === 'loads' ? NO_LOADS : undefined;

  test('asks the leader that is known, be it another broker or this one', async () => {
    const other = asking(() => answer, { leader: leaderOf('l') });
    expect(await other.clock.run(send(other.service))).toEqual(expected);
    expect(other.asked).toEqual([`l ${operation}`]);
    const self = asking(() => answer, { leader: leaderOf('l'), own: ownOf('l', () => Promise.resolve([])) });
    expect(await self.clock.run(send(self.service))).toEqual(expected);
    expect(self.asked).toEqual([]);
  });

  test('waits for no leader and asks none twice: it fails at once', async () => {
    for (const leader of [undefined, { ...leaderOf('l'), url: '' }]) {
      const { clock, asked, service } = asking(() => answer, leader === undefined ? {} : { leader });
      await expect(send(service)).rejects.toMatchObject({ kind: 'unavailable', code: 'no-leader' });
      expect([clock.monotonicMs(), asked]).toEqual([0, []]);
    }
    const { asked, state, service } = asking(() => fails(notLeader()), { leader: leaderOf('l') });
    await expect(send(service)).rejects.toMatchObject({ code: 'not-leader' });
    expect(asked).toEqual([`l ${operation}`]);
    // The next one looks who leads now.
    expect(state.forgotten).toBe(1);
  });

  test('is worth no lease', async () => {
    const own = ownOf(
      'f',
      () => Promise.resolve([]),
      () => Promise.reject(new Error('it has taken the lease')),
    );
    for (const leader of [undefined, leaderOf('l')]) {
      const { service } = asking(() => Promise.reject(refusal), { own, ...(leader === undefined ? {} : { leader }) });
      await expect(send(service)).rejects.toMatchObject({ kind: 'unavailable' });
    }
  });
});

describe('a nudge of an instance that may lead to look at a topic', () => {
  const { signal } = new AbortController();
  const looked: unknown[] = [];
  const own = (asks: boolean): OwnService => ({
    ...ownOf('f', () => Promise.resolve([])),
    lookOnce: async (pressed, ask) => {
      looked.push(pressed);
      if (asks) await ask();
    },
  });

  test('is first of all for the part that may look, which decides whether anybody is asked', async () => {
    const { clock, asked, service } = asking(() => Promise.reject(refusal), { own: own(false), leader: leaderOf('l') });
    await clock.run(service.nudge(TOPIC.id, [], signal));
    expect([asked, looked.splice(0)]).toEqual([[], [{ topic: TOPIC.id, pressures: [] }]]);
  });

  test('is for whoever leads where that part says so, and fails where nobody can be asked', async () => {
    const { clock, asked, service } = asking(() => ({ status: 200, body: encodeMessage({}) }), { own: own(true), leader: leaderOf('l') });
    await clock.run(service.nudge(TOPIC.id, [], signal));
    expect(asked).toEqual(['l nudge']);
    const other = asking(() => Promise.reject(refusal), { own: own(true), leader: { ...leaderOf('l'), url: '' } });
    await expect(other.service.nudge(TOPIC.id, [], signal)).rejects.toMatchObject({ code: 'no-leader' });
  });
});
