import { expect } from 'vitest';
import { COMMON_PROBLEMS, type Content } from '../../src/http/operation-document.ts';
import { OPERATION_DOCUMENTS } from '../../src/http/operation-documents.ts';
import { type Operation, ROUTES } from '../../src/http/paths.ts';
import { HINTED_BYTES_MAX, PROBLEM_BYTES_MAX } from '../../src/model/limits.ts';
import { Problem, Successor } from '../../src/http/schemas.ts';

/** Operation, status and type of each success of this file's tests, for the one that looks for documented ones that never come. */
export const seen = new Set<string>();

const PATTERNS = ROUTES.map((route) => ({ route, pattern: new RegExp(`^${route.path.replaceAll(/:[a-z]+/g, '[^/]+')}$`) }));

/**
 * Holds an answer against the documents that openapi.json is made of: status, type, every member. Throws where it differs.
 * `path` without its query; unknown paths and refused methods only have to be problems.
 */
export function checkAnswer(method: string, path: string, response: Response, body: Uint8Array): void {
  if (response.headers.get('content-type') === 'application/problem+json') checkProblem(response, body);
  checkBrokers(response);
  const effective = method === 'HEAD' ? 'GET' : method;
  const route = PATTERNS.find(({ route: { method: own }, pattern }) => own === effective && pattern.test(path))?.route;
  if (route === undefined) {
    expect([204, 400, 401, 404, 405]).toContain(response.status);
    return;
  }
  if (response.status >= 400)
    expect(documentedProblems(route.operation), `${route.operation} says ${response.status}`).toContain(response.status);
  else if (method !== 'HEAD') checkSuccess(route.operation, response, body);
}

function documentedProblems(operation: Operation): readonly number[] {
  return [...COMMON_PROBLEMS, ...(OPERATION_DOCUMENTS[operation].problems ?? [])];
}

function checkProblem(response: Response, body: Uint8Array): void {
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(body.length).toBeLessThanOrEqual(PROBLEM_BYTES_MAX);
  expect(response.headers.get('cache-control')).toBe('no-store');
  if (body.length === 0) return; // HEAD
  const problem = Problem.parse(JSON.parse(Buffer.from(body).toString()));
  expect(problem.status).toBe(response.status);
  expect(problem.type).toBe(`urn:kelp:problem:${problem.code}`);
  if (problem.code === 'segment-sealed') Successor.array().parse(problem['successors']);
  const isBusy = response.status === 429 || response.status === 503;
  expect(response.headers.has('retry-after')).toBe(problem.retryAfterMs !== undefined);
  if (isBusy) expect(response.headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
}

/** A segment and one origin or more, of at most eight segments. */
function checkBrokers(response: Response): void {
  const hints = response.headers.get('kelp-brokers');
  if (hints === null) return;
  expect(hints.length).toBeLessThanOrEqual(HINTED_BYTES_MAX);
  expect(hints).toMatch(/^s[0-9a-z]{7}( [^ ,]+)+(, s[0-9a-z]{7}( [^ ,]+)+){0,7}$/);
}

function checkSuccess(operation: Operation, response: Response, body: Uint8Array): void {
  const [media = ''] = (response.headers.get('content-type') ?? '').split(';');
  seen.add(`${operation} ${response.status} ${media}`.trim());
  const answer = OPERATION_DOCUMENTS[operation].answers[response.status];
  if (answer === undefined) throw new Error(`${operation} answered ${response.status}, which is not documented`);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  if (answer.content === undefined) {
    expect(body.length).toBe(0);
    return;
  }
  checkContent(operation, answer.content, response, body);
}

function checkContent(operation: Operation, content: Content, response: Response, body: Uint8Array): void {
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
  const schema = content[type];
  if (schema === undefined) throw new Error(`${operation} answered ${type}, which is not documented`);
  if (typeof schema === 'string') return;
  const parsed = schema.safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)));
  if (!parsed.success) throw new Error(`${operation} ${response.status}: ${parsed.error.message}`);
}
