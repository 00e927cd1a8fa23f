import { describe, expect, onTestFinished, test } from 'vitest';
import { decodeProblem } from '../../src/format/peer-problem.ts';
import type { BrokerAddress } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import type { Bytes } from '../../src/model/message.ts';
import type { PeerAnswer, PeerOperation, Peers } from '../../src/ports/peers.ts';
import type { PeerTreatment } from '../simulation/peer-network.ts';
import { OWN_SOCKETS, type Sockets } from './stub-server.ts';

// What holds for every way to another broker, be it a fake or the network.

export type PeersRig = {
  readonly peers: Peers;
  readonly broker: BrokerAddress;
  treat(treatment: Extract<PeerTreatment, 'answer' | 'refuse' | 'hang' | 'cut'>): void;
  /** Requests whose operation has begun, or which stand still before it. */
  untilReceived(count: number): Promise<void>;
  stop(): Promise<void>;
};

const text = new TextDecoder();
const bytes = (value: string): Bytes => new TextEncoder().encode(value);
const { signal: patient } = new AbortController();

/** What the broker over there does: it says what it got, fails as it is told, or waits until it is let go. */
export function createOperations(): { readonly operations: Readonly<Record<string, PeerOperation>>; readonly seen: string[] } {
  const seen: string[] = [];
  return {
    seen,
    operations: {
      async echo(body) {
        seen.push(text.decode(body));
        return bytes(`got ${text.decode(body)}`);
      },
      size: async (body) => bytes(String(body.length)),
      fail: () => {
        throw new KelpError('unavailable', 'not-leader', 'this one does not lead', { retryAfterMs: 300, extra: { leader: 'b' } });
      },
      missing: () => {
        throw new KelpError('not-found', 'segment-not-found', 'no such segment');
      },
      break: () => {
        throw new TypeError('a fault');
      },
    },
  };
}

export function describePeers(
  name: string,
  open: (made: ReturnType<typeof createOperations>) => Promise<PeersRig>,
  { ownSockets }: Sockets = OWN_SOCKETS,
): void {
  async function start() {
    const made = createOperations();
    const rig = await open(made);
    onTestFinished(() => rig.stop());
    const send = (operation: string, body: readonly string[] = [], signal = patient, broker = rig.broker): Promise<PeerAnswer> =>
      rig.peers.send({ broker, operation, body: body.map(bytes), timeoutMs: 10_000 }, signal);
    return { ...rig, send, seen: made.seen };
  }

  describe(name, () => {
    test('an operation gets the body whole, and its answer comes back', async () => {
      const { send } = await start();
      const { status, body } = await send('echo', ['a', '', 'bc']);
      expect([status, text.decode(body)]).toEqual([200, 'got abc']);
      expect(text.decode((await send('echo')).body)).toBe('got ');
    });

    test('a large body arrives as it was sent', async () => {
      const { send } = await start();
      const large = ['x'.repeat(3_000_000), 'y'.repeat(2_000_001)];
      expect(text.decode((await send('size', large)).body)).toBe('5000001');
    });

    test('an error over there is an answer, with kind, code and members as they were', async () => {
      const { send } = await start();
      const failed = await send('fail');
      expect(decodeProblem(failed.status, failed.body)).toMatchObject({
        kind: 'unavailable',
        code: 'not-leader',
        message: 'this one does not lead',
        retryAfterMs: 300,
        extra: { leader: 'b' },
      });
      // A 404 of the operation is no refusal.
      const missing = await send('missing');
      expect([missing.status, decodeProblem(missing.status, missing.body).code]).toEqual([404, 'segment-not-found']);
    });

    test('a fault over there says nothing of itself, and its effect is unknown', async () => {
      const { send } = await start();
      const { status, body } = await send('break');
      expect(decodeProblem(status, body)).toMatchObject({ kind: 'indefinite', code: 'internal' });
      expect(text.decode(body)).not.toContain('a fault');
    });

    test('an operation is unknown, another broker lives there, nobody listens: surely not received, as far as is known', async () => {
      const { send, treat, broker, seen } = await start();
      const refused = { kind: 'unavailable', code: 'peer-refused' };
      await expect(send('unknown')).rejects.toMatchObject(refused);
      await expect(send('echo', ['x'], patient, { ...broker, id: 'other' as BrokerId })).rejects.toMatchObject(refused);
      treat('refuse');
      await expect(send('echo', ['x'])).rejects.toMatchObject(ownSockets ? refused : { kind: 'indefinite' });
      expect(seen).toEqual([]);
    });

    test('a lost answer is indefinite: it was done', async () => {
      const { send, treat, seen } = await start();
      treat('cut');
      await expect(send('echo', ['x'])).rejects.toMatchObject({ kind: 'indefinite', code: 'peer-indefinite' });
      expect(seen).toEqual(['x']);
    });

    test('given up before it was sent: the reason itself', async () => {
      const { send, seen } = await start();
      const reason = new Error('gone');
      await expect(send('echo', ['x'], AbortSignal.abort(reason))).rejects.toBe(reason);
      expect(seen).toEqual([]);
    });

    test('given up while the other one has it: indefinite, because of that reason; others are not disturbed', async () => {
      const { send, treat, untilReceived } = await start();
      treat('hang');
      const [leaver, stayer] = [new AbortController(), new AbortController()];
      const left = send('echo', ['leaver'], leaver.signal);
      const stays = send('echo', ['stayer'], stayer.signal);
      await untilReceived(2);
      const reason = new Error('gone');
      leaver.abort(reason);
      await expect(left).rejects.toMatchObject({ kind: 'indefinite', code: 'peer-indefinite', cause: reason });
      treat('answer');
      expect(text.decode((await send('echo', ['third'])).body)).toBe('got third');
      stayer.abort(reason);
      await expect(stays).rejects.toMatchObject({ kind: 'indefinite' });
    });
  });
}
