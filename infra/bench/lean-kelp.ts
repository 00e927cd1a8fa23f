import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, get, request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { readByReference } from './lean-references.ts';
import { runLoop } from './lean-loop.ts';
import { percentile } from './percentile.ts';
import type { LatencyLoad, LoadResult, PostLoad, ReadLoad, Share } from './load.ts';

const agent = new Agent({ keepAlive: true });
const READ_QUERY = 'limit=10000&maxBytes=16777216';
const REFERENCES = 'application/vnd.kelp.references+json';
const INDEX_DIGITS = 12;
/** How long the reader waits for what is on its way when the last publish is answered. */
const LATENESS_MS_MAX = 5_000;

// The counterpart of native/kelp.go and native/latency.go.

type Exchange = { readonly method: 'GET' | 'POST'; readonly headers: OutgoingHttpHeaders; readonly body?: Uint8Array };

async function exchange(url: string, { method, headers, body }: Exchange): Promise<{ answer: IncomingMessage; bytes: Buffer }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method, headers, agent }, resolve).on('error', reject).end(body);
  });
  const bytes = await buffer(answer);
  assert.equal(answer.statusCode, 200, `${answer.statusCode} ${bytes.subarray(0, 300).toString()}`);
  return { answer, bytes };
}

/** One attempt; fails unless it is taken. Answers the bytes sent. */
export async function postOnce(url: string, load: Pick<PostLoad, 'token' | 'contentType'>, body: Uint8Array): Promise<number> {
  const headers = { authorization: `Bearer ${load.token}`, 'content-type': load.contentType, 'content-length': body.length };
  await exchange(url, { method: 'POST', headers, body });
  return body.length;
}

export function postLoad(load: PostLoad): Promise<LoadResult> {
  const bodies = load.bodies.map((file) => readFileSync(file));
  return runLoop(load, (n, client) => {
    const body = bodies[n % bodies.length];
    assert(body !== undefined, 'there is a body');
    return postOnce(`${load.targets[client % load.targets.length]}${load.keyed === true ? `?key=${n}` : ''}`, load, body);
  });
}

export async function readLoad(load: ReadLoad): Promise<LoadResult> {
  const latencies: number[] = [];
  const result = await runLoop({ clients: load.clients, count: load.shares.length }, async (n) => {
    const share = load.shares[n];
    assert(share !== undefined, 'there is a share');
    return await readShare(load, share, (tookMs) => void latencies.push(tookMs));
  });
  // The loop's work was a share; what is told is about requests.
  return { ...result, requests: latencies.length, p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99) };
}

async function readShare(load: ReadLoad, { url, from, to }: Share, onAnswer: (tookMs: number) => void): Promise<number> {
  if (load.accept === REFERENCES) return readByReference(load, { url, from, to }, onAnswer);
  let total = 0;
  for (let at = from; at < to;) {
    const headers = { authorization: `Bearer ${load.token}`, accept: load.accept };
    const beginMs = performance.now();
    const { answer, bytes } = await exchange(`${url}?offset=${at}&${READ_QUERY}`, { method: 'GET', headers });
    onAnswer(performance.now() - beginMs);
    const next = nextOffset(answer.headers['kelp-next-offset'], bytes);
    assert(next > at, `there is a way on from offset ${at} of ${url}`);
    total += bytes.length;
    at = next;
  }
  return total;
}

/** In a header, but for JSON, where it stands behind the messages. */
function nextOffset(header: string | string[] | undefined, bytes: Buffer): number {
  if (typeof header === 'string') return Number(header);
  const member = '"nextOffset":';
  const from = bytes.lastIndexOf(member) + member.length;
  return Number.parseInt(bytes.subarray(from, from + 16).toString(), 10);
}

export async function latencyLoad(load: LatencyLoad): Promise<LoadResult> {
  const count = Math.floor(load.perSecond * load.seconds);
  const due = new Map<number, number>();
  const latencies: number[] = [];
  const { promise: allRead, resolve: onAllRead } = Promise.withResolvers<void>();
  const stream = await openStream(load, (n) => {
    const dueMs = due.get(n);
    if (dueMs === undefined) return;
    due.delete(n);
    latencies.push(performance.now() - dueMs);
    if (latencies.length === count) onAllRead();
  });
  const random = randomBytes(load.bytes).toString('base64').slice(INDEX_DIGITS, load.bytes);
  const onDue = (n: number, dueMs: number): void => void due.set(n, dueMs);
  const result = await runLoop({ ...load, count, onDue }, (n) =>
    postOnce(`${load.targets[0]}?key=${n}`, load, Buffer.from(`${String(n).padStart(INDEX_DIGITS, '0')}${random}`)),
  );
  await Promise.race([allRead, new Promise((resolve) => setTimeout(resolve, LATENESS_MS_MAX))]);
  stream.destroy();
  assert.equal(latencies.length, count, 'each message reaches the reader');
  return { ...result, endToEndP50Ms: percentile(latencies, 0.5), endToEndP99Ms: percentile(latencies, 0.99) };
}

/** Resolves once the broker has sent its first comment: the reader is at the tail. */
async function openStream({ stream, token }: LatencyLoad, onMessage: (n: number) => void): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${stream}?from=latest`, { headers, agent }, resolve).on('error', reject);
  });
  assert.equal(answer.statusCode, 200, 'the stream opens');
  const lines = createInterface({ input: answer });
  await new Promise((resolve) => lines.once('line', resolve));
  lines.on('line', (line) => {
    const [, digits] = /^data: .*?"text":"(\d{12})/.exec(line) ?? [];
    if (digits !== undefined) onMessage(Number(digits));
  });
  return answer;
}
