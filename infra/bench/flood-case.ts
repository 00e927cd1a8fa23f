import { createAudit } from '../demo/audit.ts';
import { createKelpClient } from '../demo/kelp-client.ts';
import { readBack } from '../demo/read-back.ts';
import { type BenchFleet, startBenchFleet } from './fleet-stack.ts';
import { benchOf } from './fleet-cases.ts';
import { recordFlood } from './flood-rows.ts';
import { watchTable } from './watch-table.ts';
import { messagesOf, type Phase, wallMs, writeFlood } from './flood-writers.ts';
import type { Bench } from './measure.ts';
import { startThrottledTable, type ThrottledTable } from './throttled-table.ts';
import { createTopicOf } from './topic.ts';

const BROKERS = 2;
const UNITS_PER_SECOND = 50;
const BURST_SECONDS = 1;
/** Commits of heads of 2 to 4 KiB, now and then a spill: about as many as {@link UNITS_PER_SECOND} pay for. */
const TARGET_COMMITS_PER_SECOND = 10;
const CALM_PER_SECOND = 8;
const FLOOD_FACTOR = 10;
const PHASES: readonly Phase[] = [
  { name: 'before', seconds: 20, perSecond: CALM_PER_SECOND },
  { name: 'during', seconds: 60, perSecond: CALM_PER_SECOND * FLOOD_FACTOR },
  { name: 'after', seconds: 20, perSecond: CALM_PER_SECOND },
];
const SECOND_MS = 1_000;

type Flooded = { readonly fleet: BenchFleet; readonly table: ThrottledTable };
/** `name`: of its rows. */
type FloodRun = { readonly name: string; readonly topic: string; readonly maxSegments: number };

/** (m) A flood over one segment, on a table that takes so much of each key and no more: held to that segment, then left to split. */
export async function measureFlood(bench: Bench): Promise<void> {
  const table = await startThrottledTable({
    target: bench.stack.table.endpoint,
    unitsPerSecond: UNITS_PER_SECOND,
    burstSeconds: BURST_SECONDS,
    nowMs: () => performance.now(),
  });
  try {
    const fleet = await startBenchFleet(bench, { brokers: BROKERS, name: 'flood', table: 'kelp-flood', endpoint: table.url });
    await flood(bench, { fleet, table }, { name: 'm fixed', topic: 'bench-m-fixed', maxSegments: 1 });
    await flood(bench, { fleet, table }, { name: 'm', topic: 'bench-m', maxSegments: 64 });
    await Promise.all(fleet.brokers.map((broker) => broker.child().stop()));
  } finally {
    await table.close();
  }
}

async function flood(bench: Bench, { fleet, table }: Flooded, run: FloodRun): Promise<void> {
  const { stack, signal } = bench;
  const [first] = fleet.brokers as [BenchFleet['brokers'][number]];
  const scaling = { maxSegments: run.maxSegments, targetCommitsPerSecond: TARGET_COMMITS_PER_SECOND };
  const topic = await createTopicOf(benchOf(bench, first), run.topic, { segments: 1, scaling });
  const clients = fleet.brokers.map(({ url }) => createKelpClient({ url, token: stack.token, topic: run.topic, signal }));
  bench.say(`${run.name}: ${CALM_PER_SECOND} messages a second, ${FLOOD_FACTOR} times as many for a minute, then as before`);
  const audit = createAudit(messagesOf(PHASES));
  const beginMs = wallMs() + SECOND_MS;
  const watched = watchTable(table);
  const published = await writeFlood({ clients, phases: PHASES, beginMs, audit, signal }).finally(watched.stop);
  const [client] = clients as [(typeof clients)[number]];
  await readBack({ client, rowsMax: published.length, onMessage: audit.read, onProgress: () => undefined });
  const [segments, events] = [await topic.segments(), await topic.events()];
  recordFlood(bench, run.name, {
    phases: PHASES,
    beginMs,
    published,
    table: watched.moments,
    segments,
    events,
    findings: audit.findings(),
  });
}
