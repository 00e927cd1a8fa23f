import type { Bytes } from '../model/message.ts';
import type { Call } from './call.ts';
import { decodeBody, encodingOf } from './decode-body.ts';
import type { AppDependencies } from './dependencies.ts';
import { readBody } from './read-body.ts';

/**
 * The body's bytes, unpacked, each step within the limit. What is wrong with the headers shows before anything is read.
 * `unpackedBytesMax`: where the whole body is one thing with a bound of its own.
 */
export async function bodyOf({ compression, limits }: AppDependencies, call: Call, unpackedBytesMax = Infinity): Promise<Bytes> {
  const { context, signal, hold } = call;
  const encoding = encodingOf(context.req.header('content-encoding'));
  const bytesMax = Math.min(limits.requestBytesMax, unpackedBytesMax);
  // Bytes that don't compress grow a little when they are packed.
  const bytes = await readBody(context, { bytesMax: encoding === undefined ? bytesMax : limits.requestBytesMax, hold, signal });
  if (encoding === undefined) return bytes;
  const decoded = await decodeBody(bytes, encoding, { compression, bytesMax });
  hold(decoded.length);
  return decoded;
}
