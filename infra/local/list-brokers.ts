import { z } from 'zod';
import { KelpError } from '../../src/model/errors.ts';

const Brokers = z.object({ brokers: z.array(z.object({ id: z.string(), url: z.string(), startedMs: z.number() })) });

/** What a broker says of itself when it registers. */
export type Registered = z.infer<typeof Brokers>['brokers'][number];

export type Endpoint = { readonly url: string; readonly rootToken: string };

const ATTEMPT_MS = 2_000;

/** All registered brokers, as any of them tells. Error `unavailable`/`no-answer`. */
export async function listBrokers({ url, rootToken }: Endpoint, signal: AbortSignal): Promise<Registered[]> {
  const address = `${url}/v1/brokers`;
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]);
    const answer = await fetch(address, { headers: { authorization: `Bearer ${rootToken}` }, signal: limited });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.status} ${text}`);
    return Brokers.parse(JSON.parse(text)).brokers;
  } catch (cause) {
    signal.throwIfAborted();
    throw new KelpError('unavailable', 'no-answer', `${address} does not answer: ${String(cause)}`, { cause });
  }
}
