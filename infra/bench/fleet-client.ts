import { z } from 'zod';
import { KelpError } from '../../src/model/errors.ts';
import { countOperations } from '../demo/operations.ts';

const REQUEST_MS_MAX = 30_000;
const Address = z.object({ id: z.string(), url: z.string() });
const Assignment = z.object({
  segment: z.string(),
  brokers: z.array(Address),
  successors: z.array(z.object({ segment: z.string(), brokers: z.array(Address) })).default([]),
});
const Brokers = z.object({ brokers: z.array(Address) });
const Leading = z.object({ leader: Address });
export type Assignment = z.infer<typeof Assignment>;

/** What the cases of the fleet ask of one broker, one attempt each. Error `unavailable`/`no-answer` where nobody listens. */
export type FleetClient = {
  /** Ids, in order. */
  brokers(): Promise<string[]>;
  /** Undefined while nobody leads. */
  leader(): Promise<z.infer<typeof Address> | undefined>;
  /** Who serves the segment, once that is decided. `suspect`: a broker that did not answer. */
  assignment(topic: string, segment: string, suspect?: string): Promise<Assignment | undefined>;
  /** One small message. */
  publish(topic: string): Promise<void>;
  /** Of one segment, which stays as it is. */
  createTopic(topic: string): Promise<void>;
  /** Operations on the table since it started. */
  tableOperations(): Promise<number>;
};

type Answer = { readonly status: number; readonly text: string };

export function createFleetClient({ url, token, signal }: { url: string; token: string; signal: AbortSignal }): FleetClient {
  async function ask(method: string, path: string, body?: object): Promise<Answer> {
    const bounds = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    try {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers,
        signal: bounds,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text() };
    } catch (cause) {
      signal.throwIfAborted();
      throw new KelpError('unavailable', 'no-answer', `no answer from ${url}`, { cause });
    }
  }

  async function expectOk(method: string, path: string, body?: object): Promise<string> {
    return textOf(await ask(method, path, body), `${method} ${path}`);
  }

  return {
    brokers: async () => Brokers.parse(JSON.parse(await expectOk('GET', '/v1/brokers'))).brokers.map(({ id }) => id),
    async leader() {
      const answer = await ask('GET', '/v1/leader');
      return answer.status === 503 ? undefined : Leading.parse(JSON.parse(textOf(answer, 'GET /v1/leader'))).leader;
    },
    async assignment(topic, segment, suspect) {
      const answer = await ask('POST', `/v1/topics/${topic}/segments/${segment}/brokers`, suspect === undefined ? undefined : { suspect });
      return answer.status === 503 ? undefined : Assignment.parse(JSON.parse(textOf(answer, `brokers of ${topic} ${segment}`)));
    },
    async publish(topic) {
      await expectOk('POST', `/v1/topics/${topic}/messages`, { messages: [{ key: 'a', value: 1 }] });
    },
    async createTopic(topic) {
      await expectOk('PUT', `/v1/topics/${topic}`, { partitionKey: 'key', segments: 1, scaling: { maxSegments: 1 } });
    },
    tableOperations: async () => countOperations(await expectOk('GET', '/metrics')).tableOperations,
  };
}

function textOf({ status, text }: Answer, what: string): string {
  if (status < 300) return text;
  throw new KelpError('unavailable', 'bad-answer', `${what}: ${status} ${text.slice(0, 300)}`);
}
