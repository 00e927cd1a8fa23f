import { createHash } from 'node:crypto';
import type { Bytes } from '../../model/message.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PresignedRequest, Presigner } from '../../ports/presigner.ts';
import { checkKey } from '../s3/check-key.ts';
import { getHeaders, putHeaders } from '../s3/presigned-headers.ts';
import type { MemoryStore } from './memory-store.ts';

export type SentRequest = Omit<PresignedRequest, 'method'> & { readonly method: string; readonly body?: Bytes };
export type SentAnswer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Bytes };

export type MemoryPresigner = Presigner & {
  /** As clients send them, without a broker. The length is that of the body, whatever the headers say. */
  send(request: SentRequest, signal: AbortSignal): Promise<SentAnswer>;
};

type Granted = {
  readonly method: PresignedRequest['method'];
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly untilMs: number;
  readonly range?: { readonly start: number; readonly bytes: number };
  /** Of what is to be put. */
  readonly sha256?: string;
};

const NOTHING = new Uint8Array(0);
const answer = (status: number, body: Bytes = NOTHING, headers: SentAnswer['headers'] = {}): SentAnswer => ({ status, headers, body });

/** Refuses what a real store refuses, with the same status. */
export function createMemoryPresigner({ store, clock }: { readonly store: MemoryStore; readonly clock: Clock }): MemoryPresigner {
  const granted = new Map<string, Granted>();

  function grant(request: Omit<Granted, 'untilMs'>, forMs: number): PresignedRequest {
    checkKey(request.key);
    const url = `https://store.invalid/${request.key}?grant=${granted.size}`;
    granted.set(url, { ...request, untilMs: clock.nowMs() + forMs });
    return { method: request.method, url, headers: request.headers };
  }

  function isGranted({ method, headers }: SentRequest, wanted: Granted): boolean {
    const unasked = Object.keys(headers).filter((name) => name.startsWith('x-amz-') && wanted.headers[name] === undefined);
    const differing = Object.entries(wanted.headers).filter(([name, value]) => headers[name] !== value);
    return method === wanted.method && unasked.length === 0 && differing.length === 0 && clock.nowMs() < wanted.untilMs;
  }

  function put(key: string, sha256: string, body: Bytes): SentAnswer {
    if (createHash('sha256').update(body).digest('hex') !== sha256) return answer(400);
    return answer(store.create(key, body, sha256) ? 200 : 412);
  }

  async function get({ key, range }: Granted, signal: AbortSignal): Promise<SentAnswer> {
    const head = await store.head(key, signal);
    if (head === undefined) return answer(404);
    const { start, bytes } = range ?? { start: 0, bytes: head.bytes };
    if (range !== undefined && start >= head.bytes) return answer(416);
    const body = await store.getRange(key, start, bytes, signal);
    const attachment = { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' };
    if (range === undefined) return answer(200, body, attachment);
    return answer(206, body, { ...attachment, 'content-range': `bytes ${start}-${start + body.length - 1}/${head.bytes}` });
  }

  return {
    put: (key, content, forMs) => grant({ method: 'PUT', key, headers: putHeaders(content), sha256: content.sha256 }, forMs),
    get: (key, forMs, range) => grant({ method: 'GET', key, headers: getHeaders(range), ...(range === undefined ? {} : { range }) }, forMs),
    async send({ body = NOTHING, ...request }, signal) {
      signal.throwIfAborted();
      const wanted = granted.get(request.url);
      const headers = request.method === 'PUT' ? { ...request.headers, 'content-length': String(body.length) } : request.headers;
      if (wanted === undefined || !isGranted({ ...request, headers }, wanted)) return answer(403);
      return wanted.sha256 === undefined ? get(wanted, signal) : put(wanted.key, wanted.sha256, body);
    },
  };
}
