import { type Flight, FLIGHT_SCHEMA } from './flights.ts';
import { createAudit, type Finding } from './audit.ts';
import type { KelpClient } from './kelp-client.ts';
import { countOperations } from './operations.ts';
import { createProgress, type Screen } from './progress.ts';
import { publishFlights } from './publish-flights.ts';
import { readBack } from './read-back.ts';
import type { Phase, Summary } from './summary.ts';

export type DemoRun = {
  readonly client: KelpClient;
  readonly flights: AsyncIterable<readonly Flight[]>;
  readonly rows: number;
  readonly segments: number;
  readonly screen: Screen;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
};
export type DemoResult = { readonly summary: Summary; readonly findings: readonly Finding[] };

/** Makes the topic, publishes, reads all of it back, checks. The topic stays. */
export async function runDemo({ client, flights, rows, segments, screen, nowMs, signal }: DemoRun): Promise<DemoResult> {
  await client.createTopic({ segments, schema: FLIGHT_SCHEMA });
  const { puts: putsBefore } = countOperations(await client.metrics());
  const audit = createAudit(rows);
  const publish = await timed('publish', async (onProgress) =>
    publishFlights({ client, flights, onSent: audit.sent, onAcknowledged: audit.acknowledged, onProgress, signal }),
  );
  const objects = countOperations(await client.metrics()).puts - putsBefore;
  const read = await timed('read   ', async (onProgress) => readBack({ client, rowsMax: rows, onMessage: audit.read, onProgress }));
  const changes = await client.changes();
  const summary = { publish, read, keys: audit.keys(), segments: audit.segments(), changes, objects };
  return { summary, findings: audit.findings() };

  async function timed(what: string, work: (onProgress: (rows: number) => void) => Promise<Omit<Phase, 'seconds'>>): Promise<Phase> {
    const progress = createProgress({ what, total: rows, screen, nowMs });
    const startMs = nowMs();
    const done = await work(progress.update);
    progress.end();
    return { ...done, seconds: (nowMs() - startMs) / 1_000 };
  }
}
