import { expect } from 'vitest';
import type { Send } from './http-scenario.ts';

// A topic whose one segment carries more than it is to: what is published, and read, before and after its split.

/** At once, of a topic that is to carry one in a second. */
const MESSAGES = 120;
const PAGES_MAX = 20;

export type HotTopic = {
  /** As many messages as there are keys, each with the number of those before it. */
  publishRound(): Promise<void>;
  openSegments(): Promise<{ segment: string; lo: number; hi: number }[]>;
  /** Reads all from the beginning: every key's messages are there, each once, in the order in which they were published. */
  expectAll(): Promise<void>;
};

export async function makeHotTopic(send: Send, name: string): Promise<HotTopic> {
  const path = `/v1/topics/${name}`;
  const body = { partitionKey: 'key', scaling: { targetMessagesPerSecond: 1, maxSegments: 2 } };
  expect((await send('PUT', path, { body })).status).toBe(201);
  let published = 0;

  async function publishRound(): Promise<void> {
    const messages = Array.from({ length: MESSAGES }, (_, n) => ({ key: `k${n}`, text: String(published + n) }));
    expect((await send('POST', `${path}/messages`, { body: { messages } })).status).toBe(200);
    published += MESSAGES;
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
    const rounds = Array.from({ length: published / MESSAGES }, (_, round) => round * MESSAGES);
    for (let n = 0; n < MESSAGES; n += 1) {
      const own = messages.filter(({ key }) => key === `k${n}`).map(({ text }) => Number(text));
      expect(own).toEqual(rounds.map((first) => first + n));
    }
  }

  return { publishRound, openSegments, expectAll };
}
