import { type Archived, measureArchive, readArchived, startArchived } from './archive-cases.ts';
import type { Bench } from './measure.ts';
import { measureColdStarts } from './cold-start-case.ts';
import { measureFailover, measureLeader } from './failover-cases.ts';
import { measureForward, measureIdle, measureRollingRestart } from './fleet-cases.ts';
import { measureFlood } from './flood-case.ts';
import { measureFunctionCosts } from './function-cost-case.ts';
import { measureFunctionLoad } from './function-load-case.ts';
import { type BenchFleet, startBenchFleet } from './fleet-stack.ts';
import type { CaseName } from './options.ts';
import { measureLatency } from './latency-case.ts';
import { postLoad, publishBatches, publishFlights, publishJson, publishSingles, publishToSegments } from './publish-cases.ts';
import { randomBatches } from './payloads.ts';
import { type Best, findBest, measureLean } from './raw.ts';
import { publishLargeValues, publishUploads, readReferences } from './reference-cases.ts';
import { readCatchUp } from './read-case.ts';
import { createTopic, type Topic } from './topic.ts';

/** Cases that are held against raw PUTs or GETs of the best shape, which then has to be found. */
const BESIDE_BEST = ['a', 'b', 'e', 'g', 's'];

/** All that were asked for, in the order of their letters. */
export async function runCases(bench: Bench, cases: readonly CaseName[]): Promise<void> {
  const best = cases.some((name) => BESIDE_BEST.includes(name)) ? await findBest(bench) : undefined;
  if (best !== undefined) await measureLean(bench, best);
  let written: Topic | undefined;
  let uploaded: Topic | undefined;
  let archived: Archived | undefined;
  let started: Promise<BenchFleet> | undefined;
  const onFleet = async (run: (bench: Bench, fleet: BenchFleet) => Promise<void>): Promise<void> =>
    run(bench, await (started ??= startBenchFleet(bench, { brokers: 3, name: 'fleet', table: 'kelp-fleet' })));
  const run: Record<CaseName, (shapes: Best) => Promise<void>> = {
    a: ({ put }) => publishJson(bench, put),
    b: async ({ put }) => void (written = await publishBatches(bench, put)),
    c: () => publishSingles(bench),
    d: () => measureLatency(bench),
    e: async ({ get }) => readCatchUp(bench, written ?? (await write(bench)), get),
    f: () => publishToSegments(bench),
    g: ({ put }) => publishFlights(bench, put),
    h: () => onFleet(measureForward),
    i: () => onFleet(measureFailover),
    j: () => onFleet(measureLeader),
    k: () => onFleet(measureRollingRestart),
    l: () => onFleet(measureIdle),
    m: () => measureFlood(bench),
    n: () => measureFunctionLoad(bench),
    o: () => measureColdStarts(bench),
    p: () => measureFunctionCosts(bench),
    q: async () => void (uploaded = await publishUploads(bench)),
    r: () => publishLargeValues(bench),
    async s({ get }) {
      await readReferences(bench, written ?? (await write(bench)), { name: 's', label: 'what brokers have written', best: get });
      if (uploaded !== undefined) await readReferences(bench, uploaded, { name: 's uploads', label: 'uploads', best: get });
    },
    t: async () => measureArchive((archived ??= await startArchived(bench))),
    u: async () => readArchived((archived ??= await startArchived(bench))),
  };
  const unused = { bytes: 0, clients: 0 };
  for (const name of cases) await run[name](best ?? { put: unused, get: unused });
}

/** What (b) writes, for (e) alone. */
async function write(bench: Bench): Promise<Topic> {
  const topic = await createTopic(bench, 'bench-e', 1);
  const { load } = postLoad(bench, [topic], await randomBatches(bench.dir, await topic.segments()));
  bench.say('e: writing what it reads');
  await bench.loader.run(load, bench.signal);
  return topic;
}
