import { encodeProblem } from '../../src/format/peer-problem.ts';
import { problemOf } from '../../src/http/problem.ts';
import type { BrokerAddress } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import type { Bytes } from '../../src/model/message.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { PeerAnswer, PeerOperation, PeerRequest, Peers } from '../../src/ports/peers.ts';

/**
 * How a broker, or the way to it, treats requests. `refuse`: nobody listens. `hang`: it stands still before it looks at any.
 * `lose`: the connection breaks before it looks. `cut`: it does what it is asked, and its answer is lost. `late`: as `cut`, but
 * it does so only after the connection broke. A number: it is so many milliseconds slow.
 */
export type PeerTreatment = 'answer' | 'refuse' | 'hang' | 'lose' | 'cut' | 'late' | number;

/** Brokers that reach each other within one process, under one clock. */
export type PeerNetwork = {
  readonly peers: Peers;
  /** Requests that arrived, whatever became of them. */
  readonly received: { readonly broker: BrokerId; readonly operation: string; readonly timeoutMs: number }[];
  /** Listens from now on; whoever listened at the same url is gone. */
  join(address: BrokerAddress, operations: Readonly<Record<string, PeerOperation>>): void;
  leave(url: string): void;
  treat(broker: BrokerId, treatment: PeerTreatment): void;
};

type Listener = { readonly id: BrokerId; readonly operations: Readonly<Record<string, PeerOperation>> };

const LATE_MS = 50;
const forEver = new AbortController().signal;
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => void signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

export function createPeerNetwork(clock: Clock): PeerNetwork {
  const listeners = new Map<string, Listener>();
  const treatments = new Map<BrokerId, PeerTreatment>();
  const received: PeerNetwork['received'] = [];

  async function send(request: PeerRequest, signal: AbortSignal): Promise<PeerAnswer> {
    signal.throwIfAborted();
    const { broker, operation: name, body, timeoutMs } = request;
    // A request takes its way: nothing happens over there before the caller has gone on.
    await Promise.resolve();
    const listener = listeners.get(broker.url);
    const treatment = treatments.get(broker.id) ?? 'answer';
    if (listener === undefined || treatment === 'refuse') throw refused(request, 'nobody listens');
    if (listener.id !== broker.id) throw refused(request, 'another broker lives there');
    const operation = Object.hasOwn(listener.operations, name) ? listener.operations[name] : undefined;
    if (operation === undefined) throw refused(request, 'there is no such operation');
    received.push({ broker: broker.id, operation: name, timeoutMs });
    try {
      if (treatment === 'hang') await never(signal);
      if (treatment === 'lose' || treatment === 'late') {
        if (treatment === 'late') void clock.sleep(LATE_MS, forEver).then(() => answered(operation, joined(body), forEver));
        throw new Error('the connection was cut');
      }
      if (typeof treatment === 'number') await clock.sleep(treatment, signal);
      const answer = await answered(operation, joined(body), AbortSignal.any([signal, clock.deadline(timeoutMs)]));
      signal.throwIfAborted();
      if (treatment === 'cut') throw new Error('the connection was cut');
      return answer;
    } catch (cause) {
      throw new KelpError('indefinite', 'peer-indefinite', `broker ${broker.id} may have received ${name}`, { cause });
    }
  }

  return {
    peers: { send },
    received,
    join: ({ id, url }, operations) => void listeners.set(url, { id, operations }),
    leave: (url) => void listeners.delete(url),
    treat: (broker, treatment) => void treatments.set(broker, treatment),
  };
}

/** The caller's end ends the work over there, and with it the waiting here. */
async function answered(operation: PeerOperation, body: Bytes, signal: AbortSignal): Promise<PeerAnswer> {
  try {
    return { status: 200, body: await Promise.race([operation(body, signal), never(signal)]) };
  } catch (error) {
    return { status: problemOf(error).status, body: encodeProblem(error) };
  }
}

/** A copy: what arrives is nobody else's. */
const joined = (body: readonly Bytes[]): Bytes => new Uint8Array(Buffer.concat(body));

function refused({ broker }: PeerRequest, why: string): KelpError {
  return new KelpError('unavailable', 'peer-refused', `broker ${broker.id}: ${why}`);
}
