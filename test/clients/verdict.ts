import { z } from 'zod';
import type { Address } from '../checkers/history.ts';
import type { Reply } from './call.ts';

/** What an answer, or none, says of one message. */
export type Verdict =
  | { readonly is: 'acked'; readonly address?: Address }
  /** `successors`: of a sealed segment. */
  | { readonly is: 'refused'; readonly code: string; readonly successors?: readonly Successor[] }
  | { readonly is: 'unknown'; readonly code: string };

const Successor = z.object({ segment: z.string(), lo: z.int(), hi: z.int() });
export type Successor = z.infer<typeof Successor>;
const Problem = z.object({
  code: z.string(),
  detail: z.string(),
  retryable: z.boolean(),
  indefinite: z.boolean(),
  retryAfterMs: z.int().optional(),
  successors: z.array(Successor).optional(),
});
type Problem = z.infer<typeof Problem>;
const Placed = z.object({ segment: z.string(), offset: z.int().nullable(), duplicate: z.literal(true).optional() });
const Results = z.object({ results: z.array(z.union([Placed, Problem])) });

/** What a writer can meet though it does everything right; anything else is a fault of the broker's. */
const EXPECTED = new Set(['timeout', 'throttled', 'unavailable', 'indefinite', 'sequence-gap', 'segment-sealed']);
const BUSY = new Set([429, 503]);

/** A verdict for each of the `count` messages. Throws where the answer is not as PROTOCOL.md has it. */
export function verdictsOf(reply: Reply, count: number): Verdict[] {
  if (!reply.answered) return fill(count, { is: reply.sent ? 'unknown' : 'refused', code: 'no-answer' });
  const { status, headers, text } = reply;
  if (BUSY.has(status) && !/^[1-9]\d*$/.test(headers['retry-after'] ?? '')) throw new Error(`${status} without Retry-After: ${text}`);
  const body: unknown = JSON.parse(text);
  if (status !== 200 && status !== 207) return fill(count, ofProblem(Problem.parse(body), status));
  const { results } = Results.parse(body);
  if (results.length !== count) throw new Error(`${results.length} results for ${count} messages`);
  const failed = results.filter((result) => 'code' in result).length;
  // 207 is for a part, and a failure is never inside a success.
  if (status === 200 ? failed > 0 : failed === 0 || failed === count) throw new Error(`${status} with ${failed} failed of ${count}`);
  return results.map((result) => ('code' in result ? ofProblem(result, status) : ofPlaced(result)));
}

/** How long the answer asks to wait before the next attempt. */
export function retryAfterMsOf(reply: Reply): number {
  return reply.answered ? Number(reply.headers['retry-after'] ?? 0) * 1_000 : 0;
}

function ofProblem({ code, detail, indefinite, successors }: Problem, status: number): Verdict {
  if (!EXPECTED.has(code)) throw new Error(`${status} ${code}: ${detail}`);
  if (indefinite) return { is: 'unknown', code };
  return { is: 'refused', code, ...(successors === undefined ? {} : { successors }) };
}

function ofPlaced({ segment, offset, duplicate }: z.infer<typeof Placed>): Verdict {
  if (offset !== null) return { is: 'acked', address: { segment, offset } };
  if (duplicate !== true) throw new Error('an offset is left out though the message is new');
  return { is: 'acked' };
}

function fill(count: number, verdict: Verdict): Verdict[] {
  return Array.from({ length: count }, () => verdict);
}
