import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from './call.ts';
import { type Ledger, makeMessage, type Message } from './ledger.ts';
import { type Verdict, verdictsOf } from './verdict.ts';

export type NumberedWriter = {
  readonly topic: string;
  readonly token: string;
  readonly agent: Agent;
  readonly ledger: Ledger;
  /** Where the next request goes. */
  readonly url: () => string;
};

const REQUEST_MESSAGES = 50;
const ANSWER_MS = 60_000;
const PAUSE_MS = 50;

/** Messages of one key with these numbers, each request acknowledged before the next one is sent, and repeated until it is. */
export async function writeNumbered(
  writer: NumberedWriter,
  key: string,
  [first, last]: readonly [first: number, last: number],
): Promise<void> {
  for (let next = first; next <= last; next += REQUEST_MESSAGES) {
    const messages = Array.from({ length: Math.min(REQUEST_MESSAGES, last - next + 1) }, (_, n) =>
      makeMessage({ writer: key, number: next + n, key, filler: '' }),
    );
    messages.forEach((message) => writer.ledger.sent(message));
    const verdicts = await untilAcked(writer, `${key}-${next}`, messages);
    messages.forEach((message, n) => writer.ledger.acked(message, verdicts[n]?.address));
  }
}

type Acked = Extract<Verdict, { is: 'acked' }>;

async function untilAcked({ topic, token, agent, url }: NumberedWriter, name: string, messages: readonly Message[]): Promise<Acked[]> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': name };
  const items = messages.map(({ key, value }) => `{"key":${JSON.stringify(key)},"value":${value}}`);
  const request = { agent, method: 'POST', headers, body: `{"messages":[${items.join(',')}]}`, waitMs: ANSWER_MS };
  for (const endMs = performance.now() + ANSWER_MS; ;) {
    const verdicts = verdictsOf(await call({ ...request, url: `${url()}/v1/topics/${topic}/messages` }), messages.length);
    const acked = verdicts.filter((verdict): verdict is Acked => verdict.is === 'acked');
    if (acked.length === messages.length) return acked;
    if (performance.now() > endMs) throw new Error(`${name}: ${JSON.stringify(verdicts)}`);
    await sleep(PAUSE_MS);
  }
}
