import { setTimeout as sleep } from 'node:timers/promises';
import type { Audit } from '../demo/audit.ts';
import type { Flight } from '../demo/flights.ts';
import type { KelpClient } from '../demo/kelp-client.ts';
import type { TolerantAudit } from './tolerant-audit.ts';

export const WRITERS_DEFAULT = 8;
/** Of each writer: enough to lie evenly over some dozens of segments. */
const KEYS = 256;
const PADDING = 'x'.repeat(100);
/** Of one message, all its attempts: one that has no acknowledgement by then has failed. */
const PUBLISH_MS_MAX = 30_000;

export type Phase = { readonly name: 'before' | 'during' | 'after'; readonly seconds: number; readonly perSecond: number };

/** One message, and what became of it. Times are wall clock, with parts of a millisecond. */
export type Publish = {
  readonly dueMs: number;
  readonly endedMs: number;
  /** When it was told to come again. */
  readonly refusedMs: readonly number[];
  /** `unsent`: its writer still waited for others of its own when all was over, and that is when it ended. */
  readonly outcome: 'acknowledged' | 'failed' | 'unsent';
  readonly failure?: string;
  /** It was told that the message may be sent again, and when its time was over it had not been. */
  readonly isRetryable?: boolean;
};

export type Writing = {
  /** Each writer has one, in turn. */
  readonly clients: readonly Pick<KelpClient, 'publish'>[];
  readonly phases: readonly Phase[];
  readonly beginMs: number;
  readonly audit: Pick<Audit, 'sent' | 'acknowledged'> & Partial<Pick<TolerantAudit, 'refused'>>;
  readonly signal: AbortSignal;
  readonly writers?: number;
  /** Where the numbers of its messages begin. */
  readonly firstRow?: number;
};

export const wallMs = (): number => performance.timeOrigin + performance.now();

/** How many messages these phases have. */
export const messagesOf = (phases: readonly Phase[]): number =>
  phases.reduce((sum, { seconds, perSecond }) => sum + seconds * perSecond, 0);

/**
 * Each writer sends the next message once the last one is acknowledged and it is due; so keys, each of which has one writer,
 * stay in order without producer headers, and a writer that had to wait sends what has become due meanwhile at once. Nothing is
 * sent any more when the phases are over. Answers what became of each, in order of due times.
 */
export async function writeFlood(writing: Writing): Promise<Publish[]> {
  const due = dueTimes(writing.phases, writing.beginMs);
  const endMs = writing.phases.reduce((ms, { seconds }) => ms + seconds * 1_000, writing.beginMs);
  const { writers = WRITERS_DEFAULT, firstRow = 0 } = writing;
  const published: Publish[] = [];
  async function write(writer: number): Promise<void> {
    for (let n = writer; n < due.length; n += writers) {
      const dueMs = due[n] as number;
      if (wallMs() >= endMs) {
        published.push({ dueMs, endedMs: endMs, refusedMs: [], outcome: 'unsent' });
        continue;
      }
      const earlyMs = dueMs - wallMs();
      if (earlyMs > 0) await sleep(earlyMs, undefined, { signal: writing.signal });
      const flight = flightOf(firstRow + n, `w${writer}-${Math.floor(n / writers) % KEYS}`);
      published.push({ dueMs, ...(await publishOne(writing, writer, flight)) });
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return published.toSorted((a, b) => a.dueMs - b.dueMs);
}

type Outcome = Omit<Publish, 'dueMs'>;

function dueTimes(phases: readonly Phase[], beginMs: number): number[] {
  let startMs = beginMs;
  return phases.flatMap(({ seconds, perSecond }) => {
    const first = startMs;
    startMs += seconds * 1_000;
    return Array.from({ length: seconds * perSecond }, (_, n) => first + (n * 1_000) / perSecond);
  });
}

function flightOf(row: number, key: string): Flight {
  return { row, key, value: JSON.stringify({ row, origin: key, padding: PADDING }), timestampMs: 0 };
}

/** What was refused goes again. What may have been stored does not: it could be doubled. */
async function publishOne({ clients, audit, signal }: Writing, writer: number, flight: Flight): Promise<Outcome> {
  const client = clients[writer % clients.length] as Writing['clients'][number];
  const body = `{"messages":[{"key":"${flight.key}","value":${flight.value}}]}`;
  const endMs = wallMs() + PUBLISH_MS_MAX;
  const refusedMs: number[] = [];
  audit.sent(flight);
  for (;;) {
    const [result] = await client.publish(body, 1);
    if (result !== undefined && 'segment' in result) {
      audit.acknowledged(flight, result);
      return { endedMs: wallMs(), refusedMs, outcome: 'acknowledged' };
    }
    const { code = 'none', detail = '', retryable = false, indefinite = true, retryAfterMs = 0 } = result ?? {};
    if (retryable && !indefinite) refusedMs.push(wallMs());
    if (!retryable || indefinite || wallMs() + retryAfterMs > endMs) {
      // As all its attempts before were.
      if (!indefinite) audit.refused?.(flight);
      return { endedMs: wallMs(), refusedMs, outcome: 'failed', failure: `${code} ${detail}`.trimEnd(), isRetryable: retryable };
    }
    await sleep(retryAfterMs, undefined, { signal });
  }
}
