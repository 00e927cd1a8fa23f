import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import type { Retention, Topic } from '../../src/model/topic.ts';
import { checkHistory } from '../checkers/check-history.ts';
import type { Finding } from '../checkers/history.ts';
import { stage } from '../publish/uploads.ts';
import { createAuditor, type Auditor } from './day-audit.ts';
import { archiver, archivingOf, sweepBy, sweeper, truncater } from './day-cleaners.ts';
import { countingTable, findOrphans } from './find-orphans.ts';
import { createFleet, type FleetCounts, type FleetOptions } from './fleet.ts';
import { segmentReader, topicReader } from './log-readers.ts';
import { topologyChanger } from './log-topology.ts';
import { uploadWriter } from './log-uploads.ts';
import { type Client, keyedWriter, lastWriter, matchingWriter, plainWriter, producerWriter, type Run } from './log-writers.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { type Lag, lagging } from './lagging-stores.ts';
import { createTestWorld, type TestWorld } from './test-broker.ts';

export type DayOptions = FleetOptions & {
  readonly hours: number;
  readonly auditMs: number;
  /** The share of writes that arrive when nobody waits for them any more, and how late. */
  readonly lag: { readonly share: number; readonly msMax: number };
  /** How much longer than in other simulations clients rest. */
  readonly pace: number;
};

export type Day = {
  readonly findings: readonly string[];
  readonly orphans: readonly string[];
  readonly surprises: readonly string[];
  readonly counts: FleetCounts;
  readonly audits: ReturnType<Auditor['counts']>;
  readonly messages: number;
  readonly archived: number;
  readonly dropped: number;
  readonly collected: number;
  readonly changes: number;
  /** Writes that came so late. */
  readonly late: number;
};

const HOUR_MS = 3_600_000;
/** Longer than whatever is late. */
const LATE_MS_MAX = 10_000;
/** Behind all bounds of what may stay for a while. */
const LONG_MS = 10 * 24 * HOUR_MS;

const TOPICS: Readonly<Record<string, Retention | undefined>> = { aged: { maxAgeSeconds: 6 * 3_600 }, sized: { maxBytes: 60_000 } };
/** Of this one somebody cuts off what nobody may have read yet. */
const CUT = 'sized';
const DELETED = 'deleted';

type Watched = { readonly topic: Topic; readonly run: Run; readonly recorder: Recorder; readonly auditor: Auditor };

/**
 * A day of brokers, writers and readers, with archivers, retention and sweeps beside them, and every kind of fault; then calm, and two
 * sweeps. The same seed gives the same day.
 */
export async function simulateDay(seed: number, options: DayOptions): Promise<Day> {
  const { table, partitions } = countingTable(createMemoryTable());
  const phase = { isOver: false, isQuiet: false };
  let lag: Lag | undefined;
  const late = lagging(() => lag);
  const world = createTestWorld(`day ${seed}`, late.table(table), late.store);
  const { clock, random } = world;
  const fleet = createFleet(world, random.fork('fleet'), options);
  const runOf = (topicName: string): Run => {
    return {
      world,
      fleet,
      recorder: createRecorder(),
      topicName,
      pace: options.pace,
      isOver: () => phase.isOver,
      isQuiet: () => phase.isQuiet,
    };
  };
  const begin = <T>(run: Run, name: string, live: (client: Client) => Promise<T>): Promise<T> => {
    const life = live({ name, run, random: random.fork(`${run.topicName} ${name}`) });
    // Waited for below, when all is over.
    life.catch(() => undefined);
    return life;
  };

  const watched: Watched[] = [];
  for (const [name, retention] of Object.entries(TOPICS)) {
    const topic = await createTopic(world, name, retention);
    const run = runOf(name);
    watched.push({
      topic,
      run,
      recorder: run.recorder,
      auditor: createAuditor(world, { topic, recorder: run.recorder, random: random.fork(`audit ${name}`) }),
    });
  }
  await createTopic(world, DELETED, undefined);
  const beside = runOf(DELETED);

  const writers = watched.flatMap(({ run }) => [
    begin(run, 'plain', plainWriter),
    ...['producer0', 'producer1'].map((name) => begin(run, name, producerWriter)),
    begin(run, 'keyed', keyedWriter),
    begin(run, 'match', matchingWriter),
    begin(run, 'upload', uploadWriter),
    begin(run, 'abandoner', abandoner),
    ...(run.topicName === CUT ? [begin(run, 'truncater', truncater)] : []),
  ]);
  const strangers = [begin(beside, 'plain', plainWriter), begin(beside, 'abandoner', abandoner), begin(beside, 'deleter', deleter)];
  const readers = watched.flatMap(({ run }) => [begin(run, 'segments', segmentReader), begin(run, 'topic', topicReader)]);
  const archivers = [begin(beside, 'archiver0', archiver), begin(beside, 'archiver1', archiver)];
  const sweepers = [begin(beside, 'sweeper0', sweeper), begin(beside, 'sweeper1', sweeper)];
  const changers = watched.map(({ run }) => begin(run, 'changer', topologyChanger));

  lag = { clock, random: random.fork('lag'), ...options.lag, isOver: () => phase.isOver };

  const audit = async (): Promise<void> => {
    for (const { auditor } of watched) await auditor.audit();
  };
  const script = async (): Promise<Pick<Day, 'archived' | 'dropped' | 'collected' | 'changes'>> => {
    for (let ms = 0; ms < options.hours * HOUR_MS; ms += options.auditMs) {
      await clock.sleep(options.auditMs, world.signal);
      await audit();
    }
    fleet.calm();
    phase.isOver = true;
    await Promise.all([...writers, ...strangers]);
    const changes = await Promise.all(changers);
    const [archived, swept] = [await Promise.all(archivers), await Promise.all(sweepers)];
    await clock.sleep(LATE_MS_MAX, world.signal);
    await Promise.all(watched.map(({ run }) => begin(run, 'last', lastWriter)));
    phase.isQuiet = true;
    await Promise.all(readers);
    await audit();
    return {
      changes: sum(changes),
      archived: sum(archived),
      dropped: sum(swept.map((one) => one.dropped)),
      collected: sum(swept.map((one) => one.collected)),
    };
  };
  const done = await clock.run(script());
  fleet.killAll();
  await clock.run(settle(world, audit));
  const topics = watched.map(({ topic }) => topic);
  const orphans = await findOrphans({ table, store: world.store, partitions }, await fresh(world, topics));
  const audits = watched.map(({ auditor }) => auditor.counts());
  return {
    ...done,
    late: late.counts.late,
    orphans,
    findings: watched.flatMap(({ auditor, recorder, topic }) => [...auditor.findings, ...historyOf(recorder, topic)]),
    surprises: watched.flatMap(({ recorder }) => recorder.surprises),
    counts: fleet.counts(),
    audits: audits.reduce((all, one) => ({
      audits: all.audits + one.audits,
      messages: all.messages + one.messages,
      fromFiles: all.fromFiles + one.fromFiles,
    })),
    messages: sum(watched.map(({ recorder }) => recorder.history().publishes.length)),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const fresh = async (world: TestWorld, topics: readonly Topic[]): Promise<Topic[]> =>
  Promise.all(topics.map(({ name }) => world.clock.run(world.broker().topics.resolve(name, { fresh: true }, world.signal))));

async function createTopic(world: TestWorld, name: string, retention: Retention | undefined): Promise<Topic> {
  const settings = { partitionKey: 'key', segments: 2, replicas: 2, ...(retention === undefined ? {} : { retention }) } as const;
  return (await world.clock.run(world.broker().topics.create(name, settings, world.signal))).topic;
}

/** What follows from a message that nobody was given. */
const MISSED: ReadonlySet<string> = new Set<Finding['fault']>(['poll-skip', 'lost-write', 'line-order']);

/** What was read from the beginning was all that was acknowledged: nobody reads so slowly that it goes before, unless by hand. */
function historyOf(recorder: Recorder, { name }: Topic): string[] {
  const findings = checkHistory(recorder.history()).filter(({ fault }) => name !== CUT || !MISSED.has(fault));
  return findings.map(({ fault, what }) => `${name}: ${fault}: ${what}`);
}

/** Announces uploads that it forgets. */
async function abandoner(client: Client): Promise<void> {
  const { run, random } = client;
  const topic = await run.world.broker().topics.resolve(run.topicName, { fresh: true }, run.world.signal);
  while (!run.isOver()) {
    await stage({ ...run.world, random }, topic);
    await run.world.clock.sleep(HOUR_MS + random.integer(HOUR_MS), run.world.signal);
  }
}

/** Deletes its topic some hours after the beginning, whoever writes to it. */
async function deleter({ run, random }: Client): Promise<void> {
  await run.world.clock.sleep(HOUR_MS + random.integer(10 * HOUR_MS), run.world.signal);
  await run.world.broker().topics.delete(run.topicName, run.world.signal);
}

/** All is archived, and what may stay for a while is over; then two sweeps, and the hour between them for which pages outlive their files. */
async function settle(world: TestWorld, audit: () => Promise<void>): Promise<void> {
  const broker = world.broker();
  await world.clock.sleep(2 * HOUR_MS, world.signal);
  const archiving = archivingOf(broker);
  for (let complete = false; !complete;) ({ complete } = await archiving.archive({ until: world.signal }, world.signal));
  await audit();
  await world.clock.sleep(LONG_MS, world.signal);
  for (let sweeps = 0; sweeps < 2; sweeps += 1) {
    await sweepBy(broker, world.signal);
    await audit();
    await world.clock.sleep(2 * HOUR_MS, world.signal);
  }
}
