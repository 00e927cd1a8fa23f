import { type ErrorKind, KelpError } from '../model/errors.ts';
import { PROBLEM_BYTES_MAX, RETRY_AFTER_MS } from '../model/limits.ts';

export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  readonly indefinite: boolean;
  readonly detail: string;
  readonly field?: string;
  readonly retryAfterMs?: number;
  readonly [extra: string]: unknown;
};

export type ProblemRule = { readonly status: number; readonly retryable: boolean };

const FINAL = false;
const AGAIN = true;
const rule = (status: number, retryable: boolean): ProblemRule => ({ status, retryable });

/** Every code a client can meet, besides `invalid-…`, which are all 400. PROTOCOL.md has what they mean. */
export const PROBLEMS = {
  unauthenticated: rule(401, FINAL),
  denied: rule(403, FINAL),
  'topic-not-found': rule(404, FINAL),
  'segment-not-found': rule(404, FINAL),
  'broker-not-found': rule(404, FINAL),
  'path-not-found': rule(404, FINAL),
  'upload-not-found': rule(404, FINAL),
  'method-not-allowed': rule(405, FINAL),
  'not-acceptable': rule(406, FINAL),
  timeout: rule(408, AGAIN),
  'exists-differently': rule(409, FINAL),
  'segment-sealed': rule(409, AGAIN),
  'sequence-gap': rule(409, AGAIN),
  'sequence-overlap': rule(409, FINAL),
  'producer-fenced': rule(409, FINAL),
  'last-broker': rule(409, FINAL),
  'not-splittable': rule(409, FINAL),
  'not-neighbours': rule(409, FINAL),
  'not-mergeable': rule(409, FINAL),
  'upload-missing': rule(409, AGAIN),
  'upload-differs': rule(409, FINAL),
  'upload-submitted': rule(409, FINAL),
  'upload-in-use': rule(409, AGAIN),
  'upload-expired': rule(410, FINAL),
  truncated: rule(410, FINAL),
  archived: rule(410, FINAL),
  'topic-replaced': rule(410, FINAL),
  'tail-mismatch': rule(412, FINAL),
  'too-large': rule(413, FINAL),
  'unsupported-type': rule(415, FINAL),
  'beyond-tail': rule(416, FINAL),
  'key-reused': rule(422, FINAL),
  throttled: rule(429, AGAIN),
  cancelled: rule(499, AGAIN),
  corrupt: rule(500, FINAL),
  internal: rule(500, FINAL),
  unavailable: rule(503, AGAIN),
  indefinite: rule(504, AGAIN),
} as const satisfies Record<string, ProblemRule>;

type ProblemCode = keyof typeof PROBLEMS;

const INVALID = rule(400, FINAL);

/**
 * What an error is to a client when its own code is not one of the above: ports and stores have finer ones, which say more
 * about Kelp's insides than a client can use. A kind that promises a certain code is a fault when it brings another one.
 */
const CODE_OF_KIND: Readonly<Record<ErrorKind, ProblemCode>> = {
  invalid: 'internal',
  denied: 'denied',
  'not-found': 'internal',
  conflict: 'internal',
  fenced: 'internal',
  throttled: 'throttled',
  unavailable: 'unavailable',
  indefinite: 'indefinite',
  corrupt: 'corrupt',
};

/** The same for single codes. A conflict of the table is a hot head: it was surely not applied, and may be asked again. */
const CODE_OF_CODE: Readonly<Record<string, ProblemCode>> = {
  'table-conflict': 'throttled',
};

/** Whose throttling it is, where the error itself doesn't say. */
const REASON_OF_CODE: Readonly<Record<string, string>> = { 'table-conflict': 'segment', 'table-throttled': 'segment' };

const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

/** The one mapping of errors to what clients see. What isn't a KelpError is a fault of Kelp's own, and stays inside. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof KelpError)) return document('internal', PROBLEMS.internal, 'something went wrong inside');
  if (error.kind === 'invalid' && error.code.startsWith('invalid-')) return document(error.code, INVALID, error.message, membersOf(error));
  const code = isProblemCode(error.code) ? error.code : (CODE_OF_CODE[error.code] ?? CODE_OF_KIND[error.kind]);
  if (code === 'internal') return document(code, PROBLEMS.internal, 'something went wrong inside');
  return document(code, PROBLEMS[code], error.message, membersOf(error));
}

function membersOf(error: KelpError): Record<string, unknown> {
  const members: Record<string, unknown> = { ...error.extra };
  if (error.field !== undefined) members['field'] = error.field;
  if (error.retryAfterMs !== undefined) members['retryAfterMs'] = error.retryAfterMs;
  const reason = REASON_OF_CODE[error.code];
  if (reason !== undefined) members['reason'] ??= reason;
  return members;
}

function document(code: string, { status, retryable }: ProblemRule, detail: string, members: Record<string, unknown> = {}): Problem {
  const busy = status === PROBLEMS.throttled.status || status === PROBLEMS.unavailable.status;
  if (busy) members['retryAfterMs'] ??= RETRY_AFTER_MS;
  if (code === 'throttled') members['reason'] ??= 'broker';
  const words = code.replaceAll('-', ' ');
  const standard = {
    type: `urn:kelp:problem:${code}`,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    status,
    code,
    retryable,
    indefinite: code === 'indefinite',
    detail,
  };
  // Before and behind: first in order, and never replaced.
  return { ...standard, ...members, ...standard };
}

/** As JSON, at most PROBLEM_BYTES_MAX: what is beyond the standard members goes first, then the detail's end. */
export function problemText(problem: Problem): string {
  const text = JSON.stringify(problem);
  // Each character has at most three bytes of UTF-8 a UTF-16 unit.
  if (text.length * 3 <= PROBLEM_BYTES_MAX || Buffer.byteLength(text) <= PROBLEM_BYTES_MAX) return text;
  const { type, title, status, code, retryable, indefinite, detail } = problem;
  return JSON.stringify({ type, title, status, code, retryable, indefinite, detail: detail.slice(0, PROBLEM_BYTES_MAX / 8) });
}

/** Seconds, rounded up, as `Retry-After` wants them; undefined where a problem has none. */
export function retryAfterSeconds(problem: Problem): string | undefined {
  return problem.retryAfterMs === undefined ? undefined : String(Math.max(1, Math.ceil(problem.retryAfterMs / 1_000)));
}

export const PROBLEM_HEADERS = {
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

export function problemResponse(problem: Problem, headers: Readonly<Record<string, string>> = {}): Response {
  const retryAfter = retryAfterSeconds(problem);
  return new Response(problemText(problem), {
    status: problem.status,
    headers: {
      ...PROBLEM_HEADERS,
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      ...headers,
    },
  });
}
