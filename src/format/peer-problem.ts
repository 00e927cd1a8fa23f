import { type ErrorKind, KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

// Errors between brokers: kind and code as they were thrown, finer than what clients get.

const KINDS: Readonly<Record<ErrorKind, true>> = {
  invalid: true,
  denied: true,
  'not-found': true,
  conflict: true,
  fenced: true,
  throttled: true,
  unavailable: true,
  indefinite: true,
  corrupt: true,
};

const THROTTLED = 429;
const UNAVAILABLE = 503;

/** As plain JSON. What is no KelpError stays inside: its effect is unknown. */
export function problemMembers(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof KelpError)) return { kind: 'indefinite', code: 'internal', message: 'something went wrong inside' };
  const { kind, code, message, field, retryAfterMs, extra } = error;
  return {
    kind,
    code,
    message,
    ...(field === undefined ? {} : { field }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Undefined where it is none. */
export function problemFrom(value: unknown): KelpError | undefined {
  if (!isObject(value)) return undefined;
  const { kind, code, message, field, retryAfterMs, extra } = value;
  if (!isKind(kind) || typeof code !== 'string' || typeof message !== 'string') return undefined;
  return new KelpError(kind, code, message, {
    ...(typeof field === 'string' ? { field } : {}),
    ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}),
    ...(isObject(extra) ? { extra } : {}),
  });
}

export const encodeProblem = (error: unknown): Bytes => encodeUtf8(JSON.stringify(problemMembers(error)));

/** The error that the other one threw. Where its answer says nothing that can be understood, the status alone counts. */
export function decodeProblem(status: number, body: Bytes): KelpError {
  const problem = problemFrom(parseJson(body));
  if (problem !== undefined) return problem;
  const message = `the other broker answered ${status}`;
  if (status === THROTTLED) return new KelpError('throttled', 'throttled', message);
  if (status === UNAVAILABLE) return new KelpError('unavailable', 'unavailable', message);
  return new KelpError('indefinite', 'peer-indefinite', message);
}

function parseJson(body: Bytes): unknown {
  try {
    return JSON.parse(decodeUtf8(body) ?? '') as unknown;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isKind = (value: unknown): value is ErrorKind => typeof value === 'string' && Object.hasOwn(KINDS, value);
