import type { Bytes } from '../../model/message.ts';
import type { Answer, Exchange, ExchangeRequest } from '../signed-http/exchange.ts';
import { ExchangeFailure } from '../signed-http/failure.ts';

/**
 * By `fetch`, where a runtime has no sockets; how many connections there are is the runtime's choice. Whatever fails may have
 * been sent: `fetch` doesn't tell, also not of a connection that was refused.
 */
export function createFetchExchange({ origin }: URL): Exchange {
  return async (request, signal) => {
    if (signal.aborted) throw new ExchangeFailure(false, signal.reason);
    request.onSent?.();
    try {
      return await exchange(origin, request, signal);
    } catch (error) {
      throw new ExchangeFailure(true, signal.aborted ? signal.reason : error);
    }
  };
}

async function exchange(origin: string, request: ExchangeRequest, signal: AbortSignal): Promise<Answer> {
  // The runtime writes both by itself, and may refuse to be told.
  const { host: _host, 'content-length': _length, ...headers } = request.headers;
  const response = await fetch(`${origin}${request.target}`, {
    method: request.method,
    headers: { ...headers, 'accept-encoding': 'identity' },
    ...(request.body.length === 0 ? {} : { body: Buffer.concat(request.body) }),
    redirect: 'manual',
    signal,
  });
  return { status: response.status, headers: headersOf(response), body: await readWhole(response, request.answerBytesMax) };
}

/** A checksum is that of the bytes as they came, and the runtime has unpacked them already. */
function headersOf(response: Response): Answer['headers'] {
  const { 'x-amz-crc32': checksum, ...headers }: Record<string, string | undefined> = Object.fromEntries(response.headers);
  return checksum === undefined || headers['content-encoding'] !== undefined ? headers : { ...headers, 'x-amz-crc32': checksum };
}

async function readWhole(response: Response, bytesMax: number): Promise<Bytes> {
  const body = response.body as ReadableStream<Bytes> | null;
  const pieces: Bytes[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error(`the answer is longer than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  const whole = Buffer.concat(pieces, bytes);
  return new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength);
}
