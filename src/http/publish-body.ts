import type { Bytes } from '../model/message.ts';
import type { Call } from './call.ts';
import { decodeBody, encodingOf } from './decode-body.ts';
import type { HttpDependencies } from './dependencies.ts';
import { readBody } from './read-body.ts';

/** The body's bytes, unpacked, each step within the limit. What is wrong with the headers shows before anything is read. */
export async function bodyOf({ compression, limits }: HttpDependencies, { context, signal, hold }: Call): Promise<Bytes> {
  const encoding = encodingOf(context.req.header('content-encoding'));
  const bytesMax = limits.requestBytesMax;
  const bytes = await readBody(context, { bytesMax, hold, signal });
  if (encoding === undefined) return bytes;
  const decoded = await decodeBody(bytes, encoding, { compression, bytesMax });
  hold(decoded.length);
  return decoded;
}
