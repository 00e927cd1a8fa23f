import { KelpError } from '../../src/model/errors.ts';
import { type BenchBroker, type BenchFleet, until } from './fleet-stack.ts';
import type { Bench } from './measure.ts';
import { rowOfTimes } from './row.ts';

/** Each is a kill and a restart. */
const ROUNDS = 5;
const SEGMENT = 's0000000';

type Served = { readonly topic: string; readonly brokers: readonly [BenchBroker, BenchBroker] };

/** (i) kill -9 of the broker that a client publishes to, until its next message is acknowledged, with and without its report. */
export async function measureFailover(bench: Bench, fleet: BenchFleet): Promise<void> {
  for (const reports of [true, false]) {
    const ackedMs: number[] = [];
    const movedMs: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      bench.say(`i: kill -9 of an assigned broker, ${reports ? 'reported' : 'not reported'}, ${round + 1} of ${ROUNDS}`);
      await fleet.whole();
      const { topic, brokers } = await serve(bench, fleet, `bench-i-${reports ? 'report' : 'none'}-${round}`);
      const [first, second] = brokers;
      await first.client.publish(topic);
      await first.child().kill();
      const beganMs = performance.now();
      await (reports ? publishAfterReport(bench, fleet, { topic, brokers }) : publishElsewhere({ topic, brokers }));
      ackedMs.push(performance.now() - beganMs);
      await until('the segment moves', async () => ((await isMoved(second, topic)) ? true : undefined), bench.signal);
      movedMs.push(performance.now() - beganMs);
    }
    const how = reports ? 'reported by its client' : 'not reported';
    bench.record(rowOfTimes({ case: reports ? 'i report' : 'i alone', label: `kill -9 of a broker, ${how}: next ack` }, ackedMs));
    bench.record(rowOfTimes({ case: reports ? 'i report moved' : 'i alone moved', label: `the same: its segment has moved` }, movedMs));
  }
}

/** (j) kill -9 of the leader, until a segment is given to brokers that nobody had asked for yet. */
export async function measureLeader(bench: Bench, fleet: BenchFleet): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    bench.say(`j: kill -9 of the leader, ${round + 1} of ${ROUNDS}`);
    await fleet.whole();
    const leader = await fleet.leader();
    const [asked] = fleet.others(leader);
    const topic = `bench-j-${round}`;
    await asked.client.createTopic(topic);
    await leader.child().kill();
    const beganMs = performance.now();
    await until('a segment is assigned', () => asked.client.assignment(topic, SEGMENT), bench.signal);
    times.push(performance.now() - beganMs);
  }
  bench.record(rowOfTimes({ case: 'j', label: 'kill -9 of the leader: next assignment' }, times));
}

/** A topic whose segment has two brokers, the leader as the second at most: that the leader dies is (j). */
function serve({ signal }: Bench, fleet: BenchFleet, name: string): Promise<Served> {
  let made = 0;
  // Those who are just back are given nothing for a moment, and what is chosen meanwhile is for ever.
  const look = async (): Promise<Served | undefined> => {
    const topic = `${name}-${(made += 1)}`;
    const leader = await fleet.leader();
    await leader.client.createTopic(topic);
    const [first, second] = ((await leader.client.assignment(topic, SEGMENT))?.brokers ?? []).map(({ id }) => fleet.byId(id));
    return first === undefined || second === undefined || first === leader ? undefined : { topic, brokers: [first, second] };
  };
  return until('a segment is served by others than the leader', look, signal);
}

/** As a client does that reports: nobody listens, so it tells another broker, and publishes to whom the answer names. */
async function publishAfterReport({ signal }: Bench, fleet: BenchFleet, { topic, brokers: [first, second] }: Served): Promise<void> {
  await expectNobody(first, topic);
  // Of a broker that has answered the leader a moment ago nothing is believed yet: the client asks again.
  const look = async () => (await second.client.assignment(topic, SEGMENT, first.id))?.successors[0]?.brokers[0];
  const serving = await until('a report is believed', look, signal);
  await fleet.byId(serving.id).client.publish(topic);
}

/** As any HTTP client does: nobody listens, so it goes to the next one that it knows. */
async function publishElsewhere({ topic, brokers: [first, second] }: Served): Promise<void> {
  await expectNobody(first, topic);
  await second.client.publish(topic);
}

async function expectNobody({ id, client }: BenchBroker, topic: string): Promise<void> {
  try {
    await client.publish(topic);
  } catch (error) {
    if (error instanceof KelpError && error.code === 'no-answer') return;
    throw error;
  }
  throw new KelpError('unavailable', 'still-there', `${id} was killed and has answered`);
}

const isMoved = async ({ client }: BenchBroker, topic: string): Promise<boolean> =>
  ((await client.assignment(topic, SEGMENT))?.successors[0]?.brokers.length ?? 0) > 0;
