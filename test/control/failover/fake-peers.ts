import { KelpError } from '../../../src/model/errors.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import type { PeerAnswer, PeerRequest, Peers } from '../../../src/ports/peers.ts';

/** `answers`: at once. `refuses`: nobody listens. `hangs`: it takes the request, and never answers. `fails`: status 500. */
export type Behaviour = 'answers' | 'refuses' | 'hangs' | 'fails';

export type Sent = { readonly broker: BrokerId; readonly operation: string; readonly body: unknown };

/** Brokers that do nothing but answer, or not. Whoever was never named refuses. */
export type FakePeers = Peers & {
  set(broker: BrokerId, behaviour: Behaviour): void;
  /** Everything that was sent, in order. */
  readonly sent: Sent[];
  of(operation: string): Sent[];
  /** Called before each request is answered. */
  onSend: ((sent: Sent) => void) | undefined;
};

const STATUS = { answers: 200, fails: 500 } as const;

export function createFakePeers(): FakePeers {
  const behaviours = new Map<BrokerId, Behaviour>();
  const sent: Sent[] = [];
  const peers: FakePeers = {
    sent,
    onSend: undefined,
    set: (broker, behaviour) => void behaviours.set(broker, behaviour),
    of: (operation) => sent.filter((one) => one.operation === operation),
    async send(request, signal) {
      signal.throwIfAborted();
      const one = sentOf(request);
      sent.push(one);
      peers.onSend?.(one);
      const behaviour = behaviours.get(request.broker.id) ?? 'refuses';
      if (behaviour === 'refuses') throw new KelpError('unavailable', 'peer-refused', 'nobody listens');
      if (behaviour === 'hangs') return unanswered(signal);
      return { status: STATUS[behaviour], body: new TextEncoder().encode(JSON.stringify(answerOf(one))) };
    },
  };
  return peers;
}

/** Of a probe, as `someBroker` has registered; how far its heartbeats are shows in its item alone. */
const answerOf = ({ broker, operation }: Sent) => (operation === 'probe' ? { broker, instance: `i-${broker}`, version: 0 } : {});

function sentOf({ broker, operation, body }: PeerRequest): Sent {
  const text = body.map((part) => new TextDecoder().decode(part)).join('');
  return { broker: broker.id, operation, body: JSON.parse(text) as unknown };
}

function unanswered(signal: AbortSignal): Promise<PeerAnswer> {
  return new Promise((_, reject) => {
    const end = (): void => reject(new KelpError('indefinite', 'peer-indefinite', 'no answer', { cause: signal.reason }));
    signal.addEventListener('abort', end, { once: true });
  });
}
