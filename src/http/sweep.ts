import { readJson } from '../format/json-reader.ts';
import type { Bytes } from '../model/message.ts';
import { WAIT_MARGIN_MS } from '../model/limits.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { LeadingDependencies } from './dependencies.ts';
import { readDryRun, readOnlyMember } from './json-members.ts';
import { optionalBody } from './optional-body.ts';
import { parseQuery } from './query.ts';

/** Ends a moment before its caller's time, so that it can say how far it got. No query: `?dryRun=true` would not be one. */
export function createSweep(deps: LeadingDependencies): Handler {
  return async (call) => {
    parseQuery(call.context.req.url, []);
    const dryRun = parseDryRun(await optionalBody(deps, call));
    const soon = deps.clock.deadline(Math.max(0, call.remainingMs() - WAIT_MARGIN_MS));
    const { complete, uploads, deletions, retention, garbage } = await deps.sweep({ dryRun }, AbortSignal.any([call.signal, soon]));
    return okJson({ dryRun, complete, uploads, deletions, retention, garbage });
  };
}

/** `{"dryRun": boolean}`. Errors `invalid-json`, `invalid-request`, `invalid-dry-run`. */
function parseDryRun(body: Bytes | undefined): boolean {
  if (body === undefined) return false;
  const reader = readJson(body);
  let dryRun = false;
  readOnlyMember(reader, 'dryRun', () => (dryRun = readDryRun(reader)));
  return dryRun;
}
