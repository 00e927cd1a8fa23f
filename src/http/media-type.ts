import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { MIMEType } from 'node:util';
import { KelpError } from '../model/errors.ts';

export const JSON_MEDIA = 'application/json';
export const NDJSON_MEDIA = 'application/x-ndjson';
export const BATCH_MEDIA = 'application/vnd.kelp.batch';
export const REFERENCES_MEDIA = 'application/vnd.kelp.references+json';
export const SSE_MEDIA = 'text/event-stream';
export const PROMETHEUS_MEDIA = 'text/plain';

const NDJSON_ALIASES: readonly string[] = [NDJSON_MEDIA, 'application/ndjson', 'application/jsonl'];

/** A Content-Type, taken apart: `essence` in small letters, `charset` as it stands. */
export type ContentType = { readonly essence: string; readonly charset: string | null };

/** Undefined if there is none or it makes no sense. */
export function parseContentType(header: string | undefined): ContentType | undefined {
  if (header === undefined) return undefined;
  // What nearly every publish sends.
  if (header === JSON_MEDIA) return { essence: JSON_MEDIA, charset: null };
  try {
    const type = new MIMEType(header);
    return { essence: type.essence, charset: type.params.get('charset') };
  } catch {
    // The parser has one error for everything; the caller names the header.
    return undefined;
  }
}

export const isUtf8 = ({ charset }: ContentType): boolean => charset === null || /^utf-?8$/i.test(charset);

export type EnvelopeFormat = 'json' | 'ndjson' | 'batch';

const unsupported = (message: string): KelpError => new KelpError('invalid', 'unsupported-type', message, { field: 'Content-Type' });

/** What a publish body is. There is no default: with one, a slip in a type would store a whole envelope as one message. */
export function envelopeFormat(header: string | undefined): EnvelopeFormat {
  const type = parseContentType(header);
  if (type === undefined) throw unsupported(`a Content-Type is needed: ${JSON_MEDIA}, ${NDJSON_MEDIA} or ${BATCH_MEDIA}`);
  if (!isUtf8(type)) throw unsupported('the only charset is utf-8');
  if (type.essence === JSON_MEDIA) return 'json';
  if (type.essence === BATCH_MEDIA) return 'batch';
  if (NDJSON_ALIASES.includes(type.essence)) return 'ndjson';
  throw unsupported(`${JSON_MEDIA}, ${NDJSON_MEDIA} or ${BATCH_MEDIA}; one message of another type goes to …/message`);
}

/** For bodies that are JSON and nothing else. */
export function requireJson(header: string | undefined): void {
  const type = parseContentType(header);
  if (type === undefined || type.essence !== JSON_MEDIA) throw unsupported(`the body must be ${JSON_MEDIA}`);
  if (!isUtf8(type)) throw unsupported('the only charset is utf-8');
}

type AcceptRange = { readonly type: string; readonly q: number };

/**
 * The first of `offered` among those that the request's Accept ranks highest. The range that names a type most exactly
 * decides about it (`application/json;q=0, *∕*` is everything but JSON). Error `not-acceptable`.
 */
export function negotiate<T extends string>(context: Context, offered: readonly [T, ...T[]]): T {
  const header = context.req.header('accept');
  if (header === undefined || header === '' || header === '*/*') return offered[0];
  const best = accepts(context, {
    header: 'Accept',
    supports: [...offered],
    default: '',
    match: (ranges) => bestOf(ranges, offered) ?? '',
  });
  const found = offered.find((type) => type === best);
  if (found === undefined) throw new KelpError('invalid', 'not-acceptable', `offered: ${offered.join(', ')}`, { field: 'Accept' });
  return found;
}

function bestOf(ranges: readonly AcceptRange[], offered: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestQuality = 0;
  for (const type of offered) {
    const quality = qualityOf(type, ranges);
    if (quality > bestQuality) {
      best = type;
      bestQuality = quality;
    }
  }
  return best;
}

function qualityOf(type: string, ranges: readonly AcceptRange[]): number {
  const names = NDJSON_ALIASES.includes(type) ? NDJSON_ALIASES : [type];
  const [main] = type.split('/');
  const lists = [names, [`${main}/*`], ['*/*']];
  for (const list of lists) {
    const matching = ranges.filter((range) => list.includes(range.type.toLowerCase()));
    if (matching.length > 0) return Math.max(...matching.map((range) => range.q));
  }
  return 0;
}
