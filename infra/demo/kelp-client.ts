import { z } from 'zod';
import { KelpError } from '../../src/model/errors.ts';
import type { Address } from './audit.ts';

const JSON_TYPE = 'application/json';
const READ_MESSAGES = 10_000;
const READ_BYTES = 16_777_216;
/** Longer than the broker takes for any request, so that its own answer comes first. */
const REQUEST_MS_MAX = 60_000;
const RETRY_MS_DEFAULT = 500;

const Problem = z.object({
  code: z.string(),
  detail: z.string().default(''),
  retryable: z.boolean(),
  indefinite: z.boolean(),
  retryAfterMs: z.number().default(RETRY_MS_DEFAULT),
});
/** What a broker says instead of an address. */
export type Problem = z.infer<typeof Problem>;

const Results = z.object({ results: z.array(z.union([z.object({ segment: z.string(), offset: z.int() }), Problem])) });
const Page = z.object({
  messages: z.array(z.object({ segment: z.string(), offset: z.int(), key: z.unknown(), value: z.unknown() })),
  cursor: z.string(),
});
export type Page = z.infer<typeof Page> & { readonly bytes: number };

const Scaling = z.object({ events: z.array(z.object({ kind: z.enum(['split', 'merge']) })) });
/** Of a topic's segments, as far as its history goes back. */
export type Changes = { readonly splits: number; readonly merges: number };

/** `scaling`, `schema`: as in PROTOCOL.md; absent: its defaults, and none. */
export type TopicSettings = { readonly segments: number; readonly scaling?: Readonly<Record<string, number>>; readonly schema?: object };

/** What the demo uses of Kelp. */
export type KelpClient = {
  createTopic(settings: TopicSettings): Promise<void>;
  deleteTopic(): Promise<void>;
  /** The body is `{"messages":[…]}` with `count` messages; the answer has an address or a problem for each. */
  publish(body: string, count: number): Promise<(Address | Problem)[]>;
  read(cursor: string): Promise<Page>;
  changes(): Promise<Changes>;
  /** Of the broker that answers, as Prometheus text. */
  metrics(): Promise<string>;
};

type Answer = { readonly ok: boolean; readonly status: number; readonly text: string };

export type KelpAddress = { readonly url: string; readonly token: string; readonly topic: string; readonly signal: AbortSignal };

/** Speaks HTTP as PROTOCOL.md has it. Errors: KelpError with the problem's code, or `unavailable`/`no-answer`. */
export function createKelpClient({ url, token, topic, signal }: KelpAddress): KelpClient {
  const topicUrl = `${url}/v1/topics/${topic}`;

  async function call(method: string, target: string, body?: string): Promise<Answer> {
    const bounds = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': JSON_TYPE }) };
    try {
      const answer = await fetch(target, { method, headers, signal: bounds, ...(body === undefined ? {} : { body }) });
      return { ok: answer.ok, status: answer.status, text: await answer.text() };
    } catch (cause) {
      signal.throwIfAborted();
      throw new KelpError('unavailable', 'no-answer', `no answer from ${url}: ${reasonOf(cause)}`, { cause });
    }
  }

  async function expectOk(method: string, target: string, body?: string): Promise<string> {
    const answer = await call(method, target, body);
    if (answer.ok) return answer.text;
    const problem = problemOf(answer);
    throw new KelpError('unavailable', problem.code, `${method} ${target}: ${answer.status} ${problem.code} ${problem.detail}`.trimEnd());
  }

  return {
    async createTopic(settings) {
      await expectOk('PUT', topicUrl, JSON.stringify({ partitionKey: 'key', ...settings }));
    },
    async deleteTopic() {
      await expectOk('DELETE', topicUrl);
    },
    async publish(body, count) {
      const answer = await call('POST', `${topicUrl}/messages`, body);
      if (!answer.ok) return Array.from<Problem>({ length: count }).fill(problemOf(answer));
      const { results } = Results.parse(JSON.parse(answer.text));
      if (results.length === count) return results;
      throw new KelpError('corrupt', 'bad-answer', `${results.length} results for ${count} messages`);
    },
    async read(cursor) {
      const query = new URLSearchParams({ cursor, limit: String(READ_MESSAGES), maxBytes: String(READ_BYTES) });
      const text = await expectOk('GET', `${topicUrl}/messages?${query.toString()}`);
      return { ...Page.parse(JSON.parse(text)), bytes: text.length };
    },
    async changes() {
      const { events } = Scaling.parse(JSON.parse(await expectOk('GET', `${topicUrl}/scaling`)));
      const splits = events.filter(({ kind }) => kind === 'split').length;
      return { splits, merges: events.length - splits };
    },
    metrics: () => expectOk('GET', `${url}/metrics`),
  };
}

function problemOf({ status, text }: Answer): Problem {
  const parsed = Problem.safeParse(parseJson(text));
  // Something between us and the broker has answered: what became of the request is unknown.
  const unknown = { code: `status-${status}`, detail: text.slice(0, 200), retryable: false, indefinite: true, retryAfterMs: 0 };
  return parsed.success ? parsed.data : unknown;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
