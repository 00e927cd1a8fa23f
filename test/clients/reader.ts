import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Read, Seen } from '../checkers/history.ts';
import { call, type Reply } from './call.ts';
import { seenMessage } from './ledger.ts';

export type ReaderOptions = {
  readonly name?: string;
  readonly topic: string;
  readonly token: string;
  readonly url: ChooseUrl;
  readonly agent: Agent;
  /** How long an answer may take, a wait at the tail included. */
  readonly answerMs?: number;
  /** Told of each message that somebody who follows gets. */
  readonly onSeen?: (message: Seen) => void;
  /** Where it begins; default: at the beginning of everything. */
  readonly from?: Start;
};

/** `cursor`: as in `latest`. `since`: tells the event of the history from which on it has everything; asked at its first answer. */
export type Start = { readonly cursor: string; readonly since: () => number };
/** Where this client asks next. `last` is what came of its request before, so that it can leave a broker that fails it. */
export type ChooseUrl = (last: Reply | undefined, client: string) => string;

const Message = z.object({ segment: z.string().optional(), offset: z.int(), key: z.string(), value: z.unknown() });
const SegmentPage = z.object({ messages: z.array(Message), nextOffset: z.int(), tail: z.int() });
const TopicPage = z.object({ messages: z.array(Message), cursor: z.string() });
const Segments = z.object({ segments: z.array(z.object({ segment: z.string(), lo: z.int(), hi: z.int(), tail: z.int() })) });
export type SegmentInfo = z.infer<typeof Segments>['segments'][number];

const PAGE_MESSAGES = 500;
const TAIL_WAIT_MS = 1_000;
const PAUSE_MS = 50;
const ANSWER_MS = 60_000;

export async function listSegments(options: ReaderOptions): Promise<SegmentInfo[]> {
  return Segments.parse(await get(options, 'segments')).segments;
}

/** Everything, segment by segment. */
export async function readBySegment(options: ReaderOptions): Promise<Read> {
  const messages: Seen[] = [];
  const segments = await listSegments(options);
  for (const { segment, tail } of segments) {
    for (let next = 0; next < tail;) {
      const page = SegmentPage.parse(await get(options, `segments/${segment}/messages?offset=${next}&limit=${PAGE_MESSAGES}`));
      if (page.nextOffset <= next) throw new Error(`${segment}: a page at ${next} leads to ${page.nextOffset}, the tail is ${page.tail}`);
      messages.push(...page.messages.map((message) => seen(message, segment)));
      next = page.nextOffset;
    }
  }
  return { reader: 'by segment', complete: true, messages, tails: new Map(segments.map(({ segment, tail }) => [segment, tail])) };
}

/** Everything, by cursor. */
export async function readByCursor(options: ReaderOptions): Promise<Read> {
  const messages: Seen[] = [];
  for (let cursor = 'earliest'; ;) {
    const page = TopicPage.parse(await get(options, cursorPath(cursor, 0)));
    if (page.messages.length === 0) return { reader: 'by cursor', complete: true, messages };
    messages.push(...page.messages.map((message) => seen(message, message.segment)));
    cursor = page.cursor;
  }
}

type Pages = ReaderOptions & { readonly cursor: string; readonly count: number; /** Messages of a page. */ readonly limit: number };

/** From a cursor on, until so many have come; and where that is. */
export async function readPages(options: Pages): Promise<{ readonly messages: readonly Seen[]; readonly cursor: string }> {
  const { count, limit } = options;
  const messages: Seen[] = [];
  let { cursor } = options;
  while (messages.length < count) {
    const page = TopicPage.parse(await get(options, cursorPath(cursor, TAIL_WAIT_MS, Math.min(limit, count - messages.length))));
    messages.push(...page.messages.map((message) => seen(message, message.segment)));
    cursor = page.cursor;
  }
  return { messages, cursor };
}

/** Follows the topic until it is told to stop; where no broker answers, it asks again from where it was. */
export async function followTopic(options: ReaderOptions, stop: AbortSignal): Promise<Read> {
  const { name = 'follower', from } = options;
  const messages: Seen[] = [];
  let cursor = from?.cursor ?? 'earliest';
  let since: number | undefined;
  let reply: Reply | undefined;
  while (!stop.aborted) {
    reply = await ask(options, cursorPath(cursor, TAIL_WAIT_MS), reply);
    if (!reply.answered || reply.status === 503 || reply.status === 408) {
      await sleep(PAUSE_MS);
      continue;
    }
    const page = TopicPage.parse(okBody(reply));
    since ??= from?.since();
    const got = page.messages.map((message) => seen(message, message.segment));
    messages.push(...got);
    got.forEach((message) => options.onSeen?.(message));
    cursor = page.cursor;
  }
  return { reader: name, complete: false, ...(since === undefined ? {} : { since }), messages };
}

function cursorPath(cursor: string, waitMs: number, limit = PAGE_MESSAGES): string {
  return `messages?cursor=${encodeURIComponent(cursor)}&limit=${limit}&waitMs=${waitMs}`;
}

/** The data of one event of a topic's stream. */
export function seenEvent(data: string): Seen {
  const message = Message.parse(JSON.parse(data));
  return seen(message, message.segment);
}

function seen({ offset, key, value }: z.infer<typeof Message>, segment: string | undefined): Seen {
  if (segment === undefined) throw new Error('a message of a topic has a segment');
  return seenMessage({ segment, offset }, key, value);
}

async function get(options: ReaderOptions, path: string): Promise<unknown> {
  return okBody(await ask(options, path));
}

function okBody(reply: Reply): unknown {
  if (!reply.answered) throw reply.error;
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return JSON.parse(reply.text);
}

function ask(options: ReaderOptions, path: string, last?: Reply): Promise<Reply> {
  const { name = 'reader', url, topic, token, agent, answerMs = ANSWER_MS } = options;
  const target = `${url(last, name)}/v1/topics/${topic}/${path}`;
  return call({ url: target, agent, method: 'GET', headers: { authorization: `Bearer ${token}` }, waitMs: answerMs });
}
