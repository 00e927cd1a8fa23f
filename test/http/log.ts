import { expect } from 'vitest';
import type { Answer, Sending, TestApp } from './test-app.ts';

/** What tests of publishing and reading do over and over. */
export type Log = {
  readonly topic: string;
  readonly segment: string;
  /** POST messages: an object is the envelope, a string or bytes go as they are, as JSON unless the headers say otherwise. */
  publish(body: string | Uint8Array | object, headers?: Sending['headers']): Promise<Answer>;
  /** POST message. `query` with its question mark. */
  publishRaw(
    body: string | Uint8Array | undefined,
    sending?: { readonly query?: string; readonly headers?: Sending['headers'] },
  ): Promise<Answer>;
  /** GET messages of the (first) segment. */
  read(query?: string, headers?: Sending['headers']): Promise<Answer>;
  messages(): Promise<any[]>;
  tail(): Promise<number>;
  /** The answer is this problem, and nothing was stored. */
  refuses(answer: Promise<Answer>, status: number, members?: object): Promise<Answer>;
};

let counter = 0;

/** A fresh topic. */
export async function openLog(t: TestApp, settings: { readonly partitionKey?: unknown; readonly segments?: number } = {}): Promise<Log> {
  counter += 1;
  const topic = `t${counter}`;
  const made = await t.send('PUT', `/v1/topics/${topic}`, { body: { partitionKey: 'key', ...settings } });
  expect(made.status).toBe(201);
  const { segments } = (await t.send('GET', `/v1/topics/${topic}/segments`)).json;
  const segment = segments[0].segment as string;
  const path = `/v1/topics/${topic}`;
  const log: Log = {
    topic,
    segment,
    publish: (body, headers) => t.send('POST', `${path}/messages`, { body, headers: { 'content-type': 'application/json', ...headers } }),
    publishRaw: (body, { query = '', headers = {} } = {}) =>
      t.send('POST', `${path}/message${query}`, {
        headers,
        ...(body === undefined ? {} : { body: typeof body === 'string' ? new TextEncoder().encode(body) : body }),
      }),
    read: (query = '', headers = {}) => t.send('GET', `${path}/segments/${segment}/messages${query}`, { headers }),
    async messages() {
      const { messages, nextOffset, tail } = (await log.read('?limit=10000')).json;
      expect(nextOffset).toBe(tail);
      return messages;
    },
    async tail() {
      const all = (await t.send('GET', `${path}/segments`)).json.segments;
      return all.reduce((sum: number, { tail }: { tail: number }) => sum + tail, 0);
    },
    async refuses(sending, status, members = {}) {
      const answer = await sending;
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/problem+json']);
      expect(answer.json).toMatchObject(members);
      expect(await log.tail()).toBe(0);
      return answer;
    },
  };
  return log;
}

export const one = (message: object): object => ({ messages: [message] });
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
