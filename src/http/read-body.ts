import type { Context } from 'hono';
import type { IncomingMessage } from 'node:http';
import { invalid, KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import { cancelled } from './deadline.ts';
import { sendContinue } from './expect-continue.ts';
import { requireEventBody } from './function-environment.ts';
import { nodeEnvironment } from './node-environment.ts';
import { parseInteger } from './query.ts';

export type BodyReading = {
  readonly bytesMax: number;
  /** Asked for each piece before it is kept; throws when memory for bodies is full. */
  hold(bytes: number): void;
  readonly signal: AbortSignal;
};

/**
 * The body's bytes as they were sent, once. Errors: `too-large` (by the declared length, before anything is read, or as
 * soon as more has come), what `hold` throws, the signal's reason, `cancelled` if the caller goes in the middle.
 */
export async function readBody(context: Context, reading: BodyReading): Promise<Bytes> {
  reading.signal.throwIfAborted();
  requireEventBody(context);
  const declared = context.req.header('content-length');
  if (declared !== undefined && (parseInteger(declared) ?? Infinity) > reading.bytesMax) throw tooLarge(reading.bytesMax);
  const node = nodeEnvironment(context);
  if (node === undefined) return readStream(context.req.raw.body, reading);
  sendContinue(node.incoming, node.outgoing);
  return readIncoming(node.incoming, reading);
}

const tooLarge = (bytesMax: number): KelpError => invalid('too-large', 'body', `a request has at most ${bytesMax} bytes`);

/**
 * Node's own stream: turning it into a web stream costs more than the whole rest of a small publish. After an error what
 * still comes is dropped, so that the answer reaches a caller who reads only once everything is sent.
 */
function readIncoming(incoming: IncomingMessage, { bytesMax, hold, signal }: BodyReading): Promise<Bytes> {
  return new Promise((resolve, reject) => {
    const pieces: Bytes[] = [];
    let size = 0;
    const finish = (): void => {
      incoming.off('data', onData);
      incoming.off('end', onEnd);
      incoming.off('error', onGone);
      incoming.off('close', onGone);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown): void => {
      finish();
      incoming.resume();
      reject(error);
    };
    const onData = (piece: Bytes): void => {
      size += piece.length;
      try {
        if (size > bytesMax) throw tooLarge(bytesMax);
        hold(piece.length);
        pieces.push(piece);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void => {
      finish();
      resolve(join(pieces, size));
    };
    const onGone = (error?: unknown): void => fail(cancelled(error));
    const onAbort = (): void => fail(signal.reason);
    if (incoming.destroyed) {
      reject(cancelled(incoming.errored));
      return;
    }
    incoming.on('data', onData);
    incoming.on('end', onEnd);
    incoming.on('error', onGone);
    incoming.on('close', onGone);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** The web's stream, of runtimes other than Node's server. */
async function readStream(stream: ReadableStream<Bytes> | null, { bytesMax, hold, signal }: BodyReading): Promise<Bytes> {
  if (stream === null) return new Uint8Array(0);
  const reader = stream.getReader();
  const pieces: Bytes[] = [];
  let size = 0;
  let ended = false;
  // A pending read doesn't know the signal; cancelling the reader ends it.
  const onAbort = (): void => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let piece = await readPiece(reader); piece !== undefined; piece = await readPiece(reader)) {
      size += piece.length;
      if (size > bytesMax) throw tooLarge(bytesMax);
      hold(piece.length);
      pieces.push(piece);
    }
    signal.throwIfAborted();
    ended = true;
    return join(pieces, size);
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (!ended) await reader.cancel().catch(() => undefined);
  }
}

async function readPiece(reader: ReadableStreamDefaultReader<Bytes>): Promise<Bytes | undefined> {
  try {
    const { value } = await reader.read();
    return value;
  } catch (error) {
    throw cancelled(error);
  }
}

function join(pieces: readonly Bytes[], size: number): Bytes {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
