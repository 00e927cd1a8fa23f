import { printableField } from '../format/json-reader.ts';
import { invalid, type KelpError } from '../model/errors.ts';

/** The query of a request: names and values decoded once, by the rules of forms (`+` is a blank). */
export type Query = ReadonlyMap<string, string>;

const NONE: Query = new Map();

/**
 * Of the `known` parameters those that are there; `others` are refused or ignored. Error `invalid-query`: a name twice, or a
 * percent-encoding that is not UTF-8 (the usual parsers put U+FFFD there, which would be another key).
 */
export function parseQuery(url: string, known: readonly string[], others: 'refused' | 'ignored' = 'refused'): Query {
  const from = url.indexOf('?');
  if (from === -1) return NONE;
  const hash = url.indexOf('#', from);
  const text = url.slice(from + 1, hash === -1 ? undefined : hash);
  const query = new Map<string, string>();
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const sent = decode(equals === -1 ? pair : pair.slice(0, equals));
    const name = known.find((one) => one === sent);
    if (name === undefined) {
      if (others === 'refused' && pair !== '') throw unknown(sent, known);
      continue;
    }
    if (query.has(name)) throw invalid('invalid-query', name, 'the parameter stands there twice');
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
    if (value === undefined) throw invalid('invalid-query', name, 'percent-encoding must be valid UTF-8');
    query.set(name, value);
  }
  return query;
}

/** Named by itself, as members of JSON are, unless the name could be anything: it stands in answers. */
function unknown(name: string | undefined, known: readonly string[]): KelpError {
  return invalid('invalid-query', printableField(name ?? '') || 'query', `known parameters: ${known.join(', ') || 'none'}`);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // The one thing that it throws for is what can't be decoded; the caller names the parameter.
    return undefined;
  }
}

const INTEGER = /^(?:0|[1-9][0-9]{0,15})$/;

/** A whole number as written in queries and headers; undefined if it isn't one, or beyond 2^53 − 1. */
export function parseInteger(text: string): number | undefined {
  if (!INTEGER.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A parameter that must be an integer from `min` to `max`; undefined if it isn't there. Error `invalid-<name>`. */
export function integerParameter(query: Query, name: string, bounds: { readonly min: number; readonly max: number }): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const value = parseInteger(text);
  if (value === undefined || value < bounds.min || value > bounds.max) {
    const code = `invalid-${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw invalid(code, name, `an integer from ${bounds.min} to ${bounds.max}`);
  }
  return value;
}
