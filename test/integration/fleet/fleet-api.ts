import { Agent } from 'node:http';
import { z } from 'zod';
import { call, type Reply } from '../../clients/call.ts';
import { ROOT_TOKEN } from '../run-serve.ts';

const Address = z.object({ id: z.string(), url: z.string() });
const Successor = z.object({ segment: z.string(), lo: z.int(), hi: z.int(), brokers: z.array(Address) });
const Assignment = z.object({ segment: z.string(), brokers: z.array(Address), successors: z.array(Successor).default([]) });
const Status = Address.extend({ zone: z.string(), draining: z.boolean(), segments: z.int(), heartbeatMs: z.int() });
const Brokers = z.object({ brokers: z.array(Status) });
const Leading = z.object({ leader: Address, epoch: z.int() });
const Segment = z.object({
  segment: z.string(),
  state: z.enum(['pending', 'open', 'sealed']),
  lo: z.int(),
  hi: z.int(),
  tail: z.int(),
  predecessors: z.array(z.string()),
  successors: z.array(z.string()),
});
const Segments = z.object({ segments: z.array(Segment) });
const ScaleEvent = z.object({
  kind: z.enum(['split', 'merge']),
  by: z.enum(['hand', 'planner']),
  parents: z.array(z.string()),
  children: z.array(z.string()),
});
const Scaling = z.object({ events: z.array(ScaleEvent) });
const Placed = z.object({ segment: z.string(), offset: z.int() });

export type Assignment = z.infer<typeof Assignment>;
export type BrokerStatus = z.infer<typeof Status>;
export type Leading = z.infer<typeof Leading>;
export type Segment = z.infer<typeof Segment>;
export type ScaleEvent = z.infer<typeof ScaleEvent>;
export type Place = z.infer<typeof Placed>;

/** Longer than a broker takes for anything. */
const ANSWER_MS = 45_000;
const agent = new Agent({ keepAlive: true });

/** `timeoutMs`: what the broker is given; default: what it takes by itself. */
export type Asking = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>>; readonly timeoutMs?: number };

/** One attempt. */
export function ask(url: string, request: string, { body, headers = {}, timeoutMs }: Asking = {}): Promise<Reply> {
  const [method = '', path = ''] = request.split(' ');
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const time = timeoutMs === undefined ? {} : { 'kelp-timeout-ms': String(timeoutMs) };
  const all = { authorization: `Bearer ${ROOT_TOKEN}`, ...type, ...time, ...headers };
  const waitMs = timeoutMs === undefined ? ANSWER_MS : 2 * timeoutMs;
  return call({ url: `${url}${path}`, agent, method, headers: all, waitMs, ...json });
}

/** The answer, which must have this status. */
export async function expectStatus(asked: Promise<Reply>, status: number): Promise<unknown> {
  const reply = await asked;
  if (!reply.answered) throw reply.error;
  if (reply.status !== status) throw new Error(`${reply.status} in place of ${status}: ${reply.text}`);
  return reply.text === '' ? undefined : JSON.parse(reply.text);
}

export const brokersOf = async (url: string): Promise<BrokerStatus[]> =>
  Brokers.parse(await expectStatus(ask(url, 'GET /v1/brokers'), 200)).brokers;

/** Undefined while nobody leads. */
export async function leaderOf(url: string): Promise<Leading | undefined> {
  const reply = await ask(url, 'GET /v1/leader');
  if (reply.answered && reply.status === 503) return undefined;
  return Leading.parse(await expectStatus(Promise.resolve(reply), 200));
}

export const segmentsOf = async (url: string, topic: string): Promise<Segment[]> =>
  Segments.parse(await expectStatus(ask(url, `GET /v1/topics/${topic}/segments`), 200)).segments;

export const openSegmentsOf = async (url: string, topic: string): Promise<Segment[]> =>
  (await segmentsOf(url, topic)).filter(({ state }) => state === 'open');

export const scalingOf = async (url: string, topic: string): Promise<ScaleEvent[]> =>
  Scaling.parse(await expectStatus(ask(url, `GET /v1/topics/${topic}/scaling`), 200)).events;

type Named = { readonly topic: string; readonly segment: string; readonly suspect?: string };

export const askAssignment = (url: string, { topic, segment, suspect }: Named): Promise<Reply> =>
  ask(url, `POST /v1/topics/${topic}/segments/${segment}/brokers`, suspect === undefined ? {} : { body: { suspect } });

export const assignmentOf = async (url: string, named: Named): Promise<Assignment> =>
  Assignment.parse(await expectStatus(askAssignment(url, named), 200));

export const drain = (url: string, broker: string, perSecond?: number): Promise<Reply> =>
  ask(url, `POST /v1/brokers/${broker}/drain`, perSecond === undefined ? {} : { body: { perSecond } });

/** By hand. `at`: the first partition of the upper part. */
export type Change =
  | { readonly kind: 'split'; readonly segment: string; readonly at: number }
  | { readonly kind: 'merge'; readonly segments: readonly [string, string] };

const Changed = z.object({ successors: z.array(Successor) });

export function askChange(url: string, topic: string, change: Change, timeoutMs?: number): Promise<Reply> {
  const time = timeoutMs === undefined ? {} : { timeoutMs };
  const path = `POST /v1/topics/${topic}/segments`;
  if (change.kind === 'merge') return ask(url, `${path}/merge`, { body: { segments: change.segments }, ...time });
  return ask(url, `${path}/${change.segment}/split`, { body: { at: change.at }, ...time });
}

/** What stands in place of the segments; of an answer that says 200, or 409 because somebody else was faster. */
export const successorsOf = (text: string): z.infer<typeof Successor>[] => Changed.parse(JSON.parse(text)).successors;

type Message = { readonly key?: string; /** JSON. */ readonly value: unknown };

/** One message, never sent twice. */
export const publish = (url: string, topic: string, { key = 'a', value }: Message): Promise<Reply> =>
  ask(url, `POST /v1/topics/${topic}/message?key=${key}`, { body: value });

export const placeOf = async (published: Promise<Reply>): Promise<Place> => Placed.parse(await expectStatus(published, 200));

/** As in `Kelp-Brokers`: origins by segment. */
export function brokersInHeader(reply: Reply): ReadonlyMap<string, readonly string[]> {
  const text = reply.answered ? reply.headers['kelp-brokers'] : undefined;
  if (typeof text !== 'string') return new Map();
  return new Map(
    text.split(', ').map((entry) => {
      const [segment = '', ...urls] = entry.split(' ');
      return [segment, urls] as const;
    }),
  );
}
