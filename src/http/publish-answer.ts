import { KelpError } from '../model/errors.ts';
import type { Placed, PublishResult } from '../publish/request.ts';
import { jsonText, okText } from './answer.ts';
import type { BrokerHints } from './broker-hints.ts';
import { problemOf, problemText, retryAfterSeconds } from './problem.ts';

/**
 * The answer to a publish. `counts`: of the messages of each batch, where the results are those of batches. All stored: 200;
 * a part: 207, with a problem in place of each failed result. Nothing stored: throws, so that a failure is never inside a
 * success.
 */
export function publishAnswer(results: PublishResult, hints: BrokerHints, counts?: readonly number[]): Response {
  const failed = results.filter((result) => result instanceof KelpError);
  if (failed.length === results.length && failed.length > 0) throw gravest(failed);
  const texts = new Map<KelpError, string>();
  const items = results.map((result, index) =>
    result instanceof KelpError ? problemTextOnce(texts, result, hints) : placedText(result, counts?.[index]),
  );
  const body = `{"results":[${items.join(',')}]}`;
  const headers = hints.headersOf(results);
  return failed.length === 0 ? placed(body, headers) : jsonText(207, body, { ...headers, ...retryAfterOf(failed) });
}

/** The answer to one message's publish. */
export function placedAnswer(results: PublishResult, hints: BrokerHints): Response {
  const [result] = results;
  if (result === undefined) throw new Error('a publish of one message has one result');
  if (result instanceof KelpError) throw result;
  return placed(placedText(result), hints.headersOf(results));
}

/** Without hints it takes the headers that all answers share. */
function placed(body: string, headers: Readonly<Record<string, string>>): Response {
  return 'kelp-brokers' in headers ? jsonText(200, body, headers) : okText(body);
}

/** If the fate of any part is unknown, so is the request's. */
function gravest(errors: readonly KelpError[]): KelpError {
  const error = errors.find(({ kind }) => kind === 'indefinite') ?? errors[0];
  if (error === undefined) throw new Error('no error to choose from');
  return error;
}

/** By hand: ids and numbers need no escapes, and a request has up to ten thousand of them. */
function placedText({ segment, offset, duplicate }: Placed, count?: number): string {
  const counted = count === undefined ? '' : `,"count":${count}`;
  return `{"segment":"${segment}","offset":${offset}${counted}${duplicate ? ',"duplicate":true' : ''}}`;
}

/** Messages of one segment share their error. */
function problemTextOnce(texts: Map<KelpError, string>, error: KelpError, hints: BrokerHints): string {
  let text = texts.get(error);
  if (text === undefined) {
    text = problemText(problemOf(hints.addressed(error)));
    texts.set(error, text);
  }
  return text;
}

/** The longest that any of the failed parts asks for: before that, a retry of all of them can't succeed. */
function retryAfterOf(errors: readonly KelpError[]): Record<string, string> {
  const seconds = [...new Set(errors)].map((error) => Number(retryAfterSeconds(problemOf(error)) ?? 0));
  const most = Math.max(...seconds);
  return most === 0 ? {} : { 'retry-after': String(most) };
}
