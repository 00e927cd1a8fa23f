import { expect } from 'vitest';
import type { Send } from './http-scenario.ts';

// A topic whose one segment carries more than it is to: what is published, and read, before and after its split.

const KEYS = 120;
const PAGES_MAX = 20;
/** Of one round. */
const REQUESTS_AT_ONCE = 8;
const ROUND_MS = 3_000;
/** Half of what comes. A broker that alone has as much as this would see to a split by itself: one in eight has a quarter of it. */
export const SPREAD_TARGET = KEYS / (ROUND_MS / 1_000) / 2;

export type HotTopic = {
  /** So many messages of each key, in one request. */
  publish(rounds: number): Promise<void>;
  /** Goes on, from several brokers at once, until the one segment is two. Of a topic with SPREAD_TARGET. */
  publishUntilSplit(waitMs: number): Promise<void>;
  openSegments(): Promise<{ segment: string; lo: number; hi: number }[]>;
  /** Reads all from the beginning: every key's messages are there, each once, in the order in which they were published. */
  expectAll(): Promise<void>;
};

/** `target`: messages a second that one segment is to carry. */
export async function makeHotTopic(send: Send, name: string, target = 1): Promise<HotTopic> {
  const path = `/v1/topics/${name}`;
  const body = { partitionKey: 'key', scaling: { targetMessagesPerSecond: target, maxSegments: 2 } };
  expect((await send('PUT', path, { body })).status).toBe(201);
  let published = 0;

  async function publishMessages(messages: readonly { key: string; text: string }[]): Promise<void> {
    expect((await send('POST', `${path}/messages`, { body: { messages } })).status).toBe(200);
  }

  function takeRounds(rounds: number): { key: string; text: string }[] {
    const first = published;
    published += rounds * KEYS;
    return Array.from({ length: rounds * KEYS }, (_, n) => ({ key: `k${n % KEYS}`, text: String(first + n) }));
  }

  async function publishSpread(): Promise<number> {
    const messages = takeRounds(1);
    const requests = Array.from({ length: REQUESTS_AT_ONCE }, (_, request) => messages.filter((__, n) => n % REQUESTS_AT_ONCE === request));
    await Promise.all(requests.map(publishMessages));
    return (await openSegments()).length;
  }

  async function openSegments(): Promise<{ segment: string; lo: number; hi: number }[]> {
    const { segments } = (await send('GET', `${path}/segments`)).json as {
      segments: { segment: string; state: string; lo: number; hi: number }[];
    };
    return segments.filter(({ state }) => state === 'open').map(({ segment, lo, hi }) => ({ segment, lo, hi }));
  }

  async function readAll(): Promise<{ key: string; text: string }[]> {
    const read: { key: string; text: string }[] = [];
    let from = '';
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page = (await send('GET', `${path}/messages${from}`)).json as { messages: typeof read; cursor: string };
      if (page.messages.length === 0) return read;
      read.push(...page.messages);
      from = `?cursor=${page.cursor}`;
    }
    throw new Error('there is no end of messages');
  }

  async function expectAll(): Promise<void> {
    const messages = await readAll();
    expect(messages).toHaveLength(published);
    const rounds = Array.from({ length: published / KEYS }, (_, round) => round * KEYS);
    for (let n = 0; n < KEYS; n += 1) {
      const own = messages.filter(({ key }) => key === `k${n}`).map(({ text }) => Number(text));
      expect(own).toEqual(rounds.map((first) => first + n));
    }
  }

  return {
    publish: (rounds) => publishMessages(takeRounds(rounds)),
    publishUntilSplit: (waitMs) => expect.poll(publishSpread, { timeout: waitMs, interval: ROUND_MS }).toBe(2),
    openSegments,
    expectAll,
  };
}
