import { CONTROL_REQUEST_BYTES_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Call } from './call.ts';
import type { AppDependencies } from './dependencies.ts';
import { isWithoutBody } from './function-environment.ts';
import { requireJson } from './media-type.ts';
import { bodyOf } from './publish-body.ts';

/** A small body of JSON that may be left out. Undefined: it is empty, and may be of any type. */
export async function optionalBody(deps: AppDependencies, call: Call): Promise<Bytes | undefined> {
  if (isWithoutBody(call.context)) return undefined;
  const body = await bodyOf(deps, call, CONTROL_REQUEST_BYTES_MAX);
  if (body.length === 0) return undefined;
  requireJson(call.context.req.header('content-type'));
  return body;
}
