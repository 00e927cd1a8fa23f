import type { BrokerAddress } from '../model/broker.ts';
import type { Bytes } from '../model/message.ts';

/** Requests to other brokers of the same Kelp, as a port. They are signed: nobody else can make them. */
export type Peers = {
  /**
   * One attempt, over kept connections that no other caller's end breaks. `broker.id` is checked over there: another one that
   * has taken its place refuses. Errors: `unavailable`/`peer-refused`: it was surely not received, or surely not looked at
   * (nobody listens, another broker answers, the signature isn't taken); `indefinite`/`peer-indefinite`: it may have been
   * received (also after an abort, with the signal's reason as cause). Aborted before it was sent: the signal's reason.
   */
  send(request: PeerRequest, signal: AbortSignal): Promise<PeerAnswer>;
};

export type PeerRequest = {
  readonly broker: BrokerAddress;
  /** What is asked, such as `publish`: the last part of the path. */
  readonly operation: string;
  readonly body: readonly Bytes[];
  /** Milliseconds that the caller has left; the other one stops by then. */
  readonly timeoutMs: number;
};

/** Any answer of the operation itself, whatever its status. */
export type PeerAnswer = { readonly status: number; readonly body: Bytes };

/** What a broker does for another one: a body in, a body out. A KelpError becomes the problem that the other one gets. */
export type PeerOperation = (body: Bytes, signal: AbortSignal) => Promise<Bytes>;
