import type { Bytes } from '../model/message.ts';

export const JSON_TYPE = 'application/json';

const NO_STORE = 'no-store';
const NO_SNIFF = { 'x-content-type-options': 'nosniff' } as const;

/** One object for the many answers that need nothing else: a publish answers without making any. */
const JSON_HEADERS = Object.freeze({ 'content-type': JSON_TYPE, 'cache-control': NO_STORE, ...NO_SNIFF });
const OK: ResponseInit = Object.freeze({ status: 200, headers: JSON_HEADERS });

/** 200 with JSON that is text already. */
export function okText(text: string): Response {
  return new Response(text, OK);
}

export function okJson(value: unknown): Response {
  return okText(JSON.stringify(value));
}

export function jsonText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { status, headers: { ...JSON_HEADERS, ...headers } });
}

export function noContent(headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 204, headers: { ...NO_SNIFF, ...headers } });
}

/** Any body of any type; `headers` may replace the cache rule. */
export function answer(body: string | Bytes, type: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(body as string | Uint8Array<ArrayBuffer>, {
    status: 200,
    headers: { 'content-type': type, 'cache-control': NO_STORE, ...NO_SNIFF, ...headers },
  });
}

/** A body in several pieces, which are sent as they are. */
export function answerPieces(pieces: readonly Bytes[], type: string, headers: Readonly<Record<string, string>> = {}): Response {
  const [only] = pieces;
  if (only === undefined || pieces.length === 1) return answer(only ?? new Uint8Array(0), type, headers);
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return new Response(body, {
    status: 200,
    headers: { 'content-type': type, 'content-length': String(length), 'cache-control': NO_STORE, ...NO_SNIFF, ...headers },
  });
}
