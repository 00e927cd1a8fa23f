import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bytesFrom, textFrom } from './lean-exchange.ts';
import { runLoop } from './lean-loop.ts';
import type { LoadResult, ReadLoad, Share, SubmitLoad } from './load.ts';
import { UPLOAD_MARK } from './uploads.ts';

const LIMIT_MAX = 1_000_000;

// The counterpart of native/submit.go and native/references.go.

type Granted = {
  readonly upload: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
};
type Page = {
  readonly references: readonly (Pick<Granted, 'url' | 'method' | 'headers'> & { readonly bytes: number })[];
  readonly nextOffset: number;
};

export function submitLoad(load: SubmitLoad): Promise<LoadResult> {
  const payloads = load.payloads.map(({ file, envelope, ...payload }) => ({
    ...payload,
    body: readFileSync(file),
    envelope: readFileSync(envelope, 'utf8'),
  }));
  const post = (path: string, text: string): Promise<string> => {
    const body = Buffer.from(text);
    const headers = { authorization: `Bearer ${load.token}`, 'content-type': 'application/json', 'content-length': body.length };
    return textFrom(`${load.targets[0]}${path}`, { method: 'POST', headers, parts: [body] });
  };
  return runLoop(load, async (n) => {
    const payload = payloads[n % payloads.length];
    assert(payload !== undefined, 'there is a payload');
    const { bytes, sha256, body, repeat, envelope } = payload;
    const { upload, url, method, headers } = JSON.parse(await post('/uploads', JSON.stringify({ bytes, sha256 }))) as Granted;
    await bytesFrom(url, { method, headers, parts: Array.from({ length: repeat }, () => body) });
    await post('/messages', envelope.replace(UPLOAD_MARK, upload));
    return bytes;
  });
}

/** Asks where a share's batches lie, and gets them from the store. */
export async function readByReference(load: ReadLoad, { url, from, to }: Share, onAnswer: (tookMs: number) => void): Promise<number> {
  let total = 0;
  for (let at = from; at < to;) {
    const headers = { authorization: `Bearer ${load.token}`, accept: load.accept };
    const beginMs = performance.now();
    const text = await textFrom(`${url}?offset=${at}&limit=${Math.min(to - at, LIMIT_MAX)}`, { method: 'GET', headers });
    onAnswer(performance.now() - beginMs);
    const { references, nextOffset } = JSON.parse(text) as Page;
    for (const reference of references) {
      const getMs = performance.now();
      const bytes = await bytesFrom(reference.url, reference);
      assert.equal(bytes, reference.bytes, 'a stretch comes whole');
      onAnswer(performance.now() - getMs);
      total += bytes;
    }
    assert(nextOffset > at, `there is a way on from offset ${at} of ${url}`);
    at = nextOffset;
  }
  return total;
}
