// What brokers ask of each other looks like this over HTTP: whoever sends it and whoever answers it share it.

/** The operation's name follows. */
export const PEER_PATH = '/v1/internal/';
export const PEER_METHOD = 'POST';
/** In a request: the id of the broker that is meant. In an answer: of the one that gave it, which proves that it was looked at. */
export const PEER_BROKER_HEADER = 'kelp-broker';
export const PEER_SIGNATURE_HEADER = 'kelp-signature';
export const PEER_TIMEOUT_HEADER = 'kelp-timeout-ms';

/** What is signed. */
export type PeerSigned = {
  readonly method: string;
  /** From the slash on, without a query. */
  readonly path: string;
  /** The one that is meant. */
  readonly broker: string;
  /** SHA-256, hexadecimal. In the header, so that the signature is checked before a body is read. */
  readonly bodyHash: string;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
};

const VERSION = 'kelp-peer-1';
const SIGNATURE = /^t=(\d{1,15}),h=([0-9a-f]{64}),s=([0-9a-f]{64})$/;

/** None of the parts has a line break: HTTP allows none in them. */
export function peerSignedText({ method, path, broker, bodyHash, timeMs }: PeerSigned): string {
  return [VERSION, method, path, broker, bodyHash, timeMs].join('\n');
}

/** The header's value. `tag`: hexadecimal. */
export function formatPeerSignature({ bodyHash, timeMs }: PeerSigned, tag: string): string {
  return `t=${timeMs},h=${bodyHash},s=${tag}`;
}

export type PeerSignature = { readonly timeMs: number; readonly bodyHash: string; readonly tag: string };

/** Undefined where it is none. */
export function parsePeerSignature(text: string): PeerSignature | undefined {
  const [, timeMs, bodyHash, tag] = SIGNATURE.exec(text) ?? [];
  return timeMs === undefined || bodyHash === undefined || tag === undefined ? undefined : { timeMs: Number(timeMs), bodyHash, tag };
}
