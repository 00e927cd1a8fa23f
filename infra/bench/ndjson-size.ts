import { gzipSync } from 'node:zlib';
import type { Bench } from './measure.ts';
import type { Topic } from './topic.ts';

const PART_BYTES = 33_554_432;
const REQUEST_MS_MAX = 30_000;
/** What `gzip` does unless it is told otherwise. */
const LEVEL = 6;

/** Bytes of a message as a line of JSON, as the API gives it, all of them compressed: by the first so many of a topic of one segment. */
export async function ndjsonGzSize({ stack: { token }, signal }: Bench, topic: Topic): Promise<number> {
  const [first] = await topic.segments();
  if (first === undefined) throw new RangeError('a topic has a segment');
  const headers = { authorization: `Bearer ${token}`, accept: 'application/x-ndjson' };
  const parts: Buffer[] = [];
  let messages = 0;
  for (let bytes = 0; bytes < PART_BYTES && messages < first.tail;) {
    const bounds = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
    const url = `${topic.url}/segments/${first.segment}/messages?offset=${messages}&limit=10000&maxBytes=16777216`;
    const answer = await fetch(url, { headers, signal: bounds });
    const part = Buffer.from(await answer.arrayBuffer());
    const next = Number(answer.headers.get('kelp-next-offset'));
    if (!answer.ok || !(next > messages)) throw new RangeError(`no lines at offset ${messages}: ${answer.status}`);
    parts.push(part);
    bytes += part.length;
    messages = next;
  }
  return gzipSync(Buffer.concat(parts), { level: LEVEL }).length / messages;
}
