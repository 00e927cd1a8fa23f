import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import { call, type Reply } from './call.ts';
import { type Ledger, makeMessage, type Message } from './ledger.ts';
import type { ChooseUrl } from './reader.ts';
import { retryAfterMsOf, type Successor, type Verdict, verdictsOf } from './verdict.ts';

export type WriterOptions = {
  readonly name: string;
  readonly topic: string;
  readonly token: string;
  /** Where a broker is now; it may be down. */
  readonly url: ChooseUrl;
  readonly agent: Agent;
  readonly keys: readonly [string, ...string[]];
  readonly ledger: Ledger;
  /** Where it counts. */
  readonly met: Met;
  readonly random: SeededRandom;
  /** How long an answer has taken, or that none came. */
  readonly onAnswer: (waitedMs: number) => void;
  /** Sends nothing new from then on. */
  readonly stop: AbortSignal;
  /** How long a broker may take for one attempt. */
  readonly timeoutMs: number;
  /** How long one request is tried again before the writer fails. */
  readonly patienceMs: number;
};

/** What writers met: how often each verdict of one message, as in `acked`, `refused: unavailable`, `unknown: no-answer`. */
export type Met = Map<string, number>;

const MESSAGES_MAX = 4;
const FILLER_MAX = 400;
/** A dead broker's port refuses at once. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2_000;

/** Requests over all segments, one after the other, each with a key of its own, sent again until all of it is acknowledged. */
export async function writeWithIdempotencyKeys(options: WriterOptions): Promise<void> {
  const writer = createWriter(options);
  while (!options.stop.aborted) {
    const headers = { 'idempotency-key': `${options.name}-${writer.made()}` };
    const messages = writer.make();
    for (const message of messages) options.ledger.sent(message);
    if ((await writer.untilAcked(messages, headers)) !== undefined) throw new Error(`${options.name} has no segment that could be sealed`);
  }
}

/** Requests over all segments, one after the other, each sent once. */
export async function writePlainly(options: WriterOptions): Promise<void> {
  const writer = createWriter(options);
  while (!options.stop.aborted) {
    const messages = writer.make();
    for (const message of messages) options.ledger.sent(message);
    const { verdicts, reply } = await writer.send(messages, {});
    verdicts.forEach((verdict, i) => note(options.ledger, messages[i], verdict));
    if (verdicts.some(({ is }) => is !== 'acked')) await writer.pause(reply);
  }
}

function note(ledger: Ledger, message: Message | undefined, verdict: Verdict): void {
  if (message === undefined) throw new Error('a verdict belongs to a message');
  if (verdict.is === 'acked') ledger.acked(message, verdict.address);
  if (verdict.is === 'refused') ledger.refused(message);
}

type Sent = { readonly verdicts: readonly Verdict[]; readonly reply: Reply };

export type Writer = {
  /** Messages so far. */
  made(): number;
  make(): Message[];
  send(messages: readonly Message[], headers: Readonly<Record<string, string>>): Promise<Sent>;
  /** Answers the successors instead, where the segment that the headers name is sealed: none of the messages is in it. */
  untilAcked(messages: readonly Message[], headers: Readonly<Record<string, string>>): Promise<readonly Successor[] | undefined>;
  pause(reply: Reply): Promise<void>;
};

export function createWriter(options: WriterOptions): Writer {
  const { name, keys, random, ledger, met } = options;
  let made = 0;
  let last: Reply | undefined;

  function make(): Message[] {
    return Array.from({ length: 1 + random.integer(MESSAGES_MAX) }, () =>
      makeMessage({ writer: name, number: made++, key: random.pick(keys), filler: random.base36(random.integer(FILLER_MAX)) }),
    );
  }

  async function send(messages: readonly Message[], headers: Readonly<Record<string, string>>): Promise<Sent> {
    const beganMs = performance.now();
    const reply = await post(options, options.url(last, name), { messages, headers });
    options.onAnswer(performance.now() - beganMs);
    last = reply;
    const verdicts = verdictsOf(reply, messages.length);
    for (const verdict of verdicts) {
      const what = verdict.is === 'acked' ? 'acked' : `${verdict.is}: ${verdict.code}`;
      met.set(what, (met.get(what) ?? 0) + 1);
    }
    return { verdicts, reply };
  }

  async function pause(reply: Reply): Promise<void> {
    await sleep(Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS, retryAfterMsOf(reply))) * (0.5 + random.fraction()));
  }

  async function untilAcked(...request: Parameters<Writer['untilAcked']>): ReturnType<Writer['untilAcked']> {
    const [messages, headers] = request;
    const endMs = performance.now() + options.patienceMs;
    for (;;) {
      const { verdicts, reply } = await send(messages, headers);
      if (verdicts.every(({ is }) => is === 'acked')) {
        verdicts.forEach((verdict, i) => note(ledger, messages[i], verdict));
        return undefined;
      }
      const successors = verdicts.map(successorsOf);
      if (successors.every((some) => some !== undefined)) return successors[0];
      if (performance.now() > endMs) throw new Error(`${name}: not acknowledged in ${options.patienceMs} ms: ${JSON.stringify(verdicts)}`);
      await pause(reply);
    }
  }

  return { made: () => made, make, send, untilAcked, pause };
}

const successorsOf = (verdict: Verdict): readonly Successor[] | undefined => ('successors' in verdict ? verdict.successors : undefined);

type Request = { readonly messages: readonly Message[]; readonly headers: Readonly<Record<string, string>> };

function post(options: WriterOptions, url: string, { messages, headers }: Request): Promise<Reply> {
  const items = messages.map(({ key, value }) => `{"key":${JSON.stringify(key)},"value":${value}}`);
  return call({
    url: `${url}/v1/topics/${options.topic}/messages`,
    agent: options.agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.token}`,
      'content-type': 'application/json',
      'kelp-timeout-ms': String(options.timeoutMs),
      ...headers,
    },
    body: `{"messages":[${items.join(',')}]}`,
    waitMs: 2 * options.timeoutMs,
  });
}
