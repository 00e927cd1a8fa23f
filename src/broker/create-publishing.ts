import type { ControlDeps, ControlPlane } from '../control/create-control.ts';
import type { MemberAddress } from '../control/member.ts';
import type { BrokerAddress } from '../model/broker.ts';
import type { BrokerId, SegmentId, TopicId } from '../model/ids.ts';
import { LEADER_ASK_MS_MAX } from '../model/limits.ts';
import { THROTTLED_WRITES_MIN } from '../model/scaling-limits.ts';
import type { SegmentPressure } from '../model/segment-pressure.ts';
import type { Topic } from '../model/topic.ts';
import type { Background } from '../ports/background.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { LoadMeter } from '../ports/load-meter.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { PeerOperation, Peers } from '../ports/peers.ts';
import type { Presigner } from '../ports/presigner.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { createCommitIds } from '../protocol/commit-id.ts';
import { createPublishOperations } from '../publish/peer-operations.ts';
import { createPublisher } from '../publish/publish.ts';
import type { Publisher } from '../publish/publisher.ts';
import { type Checker, createChecker } from '../reference/create-checker.ts';
import { createReferences } from '../reference/create-references.ts';
import { createUploads } from '../reference/create-uploads.ts';
import type { References } from '../reference/references.ts';
import type { Uploads } from '../reference/uploads.ts';
import type { Heads } from '../state/heads.ts';
import { createPressureMeter } from '../state/pressure-meter.ts';
import { createTopics } from '../topics/create-topics.ts';
import type { Topics } from '../topics/topics.ts';
import { type BrokerRoutes, createRoutes } from './create-routes.ts';
import { probeStores } from './probe-stores.ts';

/** What publishing needs of the runtime. Reads of both stores are retried and attempts bounded by whoever made them. */
export type PublishingPorts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly presigner: Presigner;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly compression: Compression;
  readonly background: Background;
  /** SHA-256 of the text's UTF-8, hexadecimal. */
  readonly sha256: (text: string) => string;
  readonly meter: LoadMeter;
  /** Where other brokers and clients reach this one; absent: nowhere, and it serves alone. */
  readonly self?: MemberAddress;
  /** Absent: it asks nothing of other brokers, and they can ask nothing of it. */
  readonly peers?: Peers;
  /** How often each topic is looked at by whoever leads, in a process; 0 or absent: only when somebody asks. */
  readonly rebalanceMs?: number;
};

/** All of a broker but its readers. */
export type Publishing = {
  readonly topics: Topics;
  readonly publisher: Publisher;
  readonly uploads: Uploads;
  readonly references: References;
  readonly control: ControlPlane;
  /** What it does for other brokers, by name. */
  readonly operations: Readonly<Record<string, PeerOperation>>;
  /** Who serves a segment, and where a broker is, as far as is known without asking. */
  brokersOf(topic: Topic, segment: SegmentId): readonly BrokerAddress[];
  addressOf(broker: BrokerId): BrokerAddress | undefined;
  /** A real write, read and delete in both stores; rejects with what is wrong. */
  probe(signal: AbortSignal): Promise<void>;
};

export type PublishingParts = {
  /** What this instance has seen of them, which those who read here share. */
  readonly heads: Heads;
  /** As createControl, or another one of an instance that never leads. */
  readonly controlOf: (deps: ControlDeps) => ControlPlane;
};

export function createPublishing(ports: PublishingPorts & PublishingParts): Publishing {
  const commitIds = createCommitIds(ports);
  const pressure = createPressureMeter({
    clock: ports.clock,
    onPressed: (...pressed) => nudge({ ...ports, control }, ...pressed),
    // Without an address it is a function's, or one request's.
    writesPerRefusal: ports.self?.kind === 'process' ? 1 : THROTTLED_WRITES_MIN,
  });
  const checker = checkerOf(ports);
  const deps = { ...ports, commitIds, pressure, ...(checker === undefined ? {} : { batchesSubmitted: checker.offer }) };
  const control: ControlPlane = ports.controlOf(deps);
  const routes = routesOf({ ...deps, control });
  const topics = createTopics(deps);
  const publisher = createPublisher({ ...deps, ...(routes === undefined ? {} : { routes }) });
  const { resolve, forget } = topics;
  return {
    topics,
    publisher: checker === undefined ? publisher : withChecker(publisher, checker),
    uploads: createUploads(ports),
    references: createReferences(ports),
    control,
    operations: { ...control.operations, ...createPublishOperations({ publisher, resolve, forget }) },
    brokersOf: (topic, segment) => routes?.brokersOf(topic, segment) ?? [],
    addressOf: (id) => control.directory.known(id),
    probe: (signal) => probeStores(ports, signal),
  };
}

/** Of a process: what lives for a request, or as long as an answer takes, leaves uploaded batches to the sweep. */
function checkerOf(ports: PublishingPorts & PublishingParts): Checker | undefined {
  return ports.self?.kind === 'process' ? createChecker(ports) : undefined;
}

/** What waits for the end of publishes should not wait for batches that a sweep looks at as well. */
function withChecker(publisher: Publisher, checker: Checker): Publisher {
  return {
    ...publisher,
    stop(signal) {
      checker.stop();
      return publisher.stop(signal);
    },
  };
}

/** Undefined where this one is alone: all is committed here. */
function routesOf(deps: PublishingPorts & { readonly heads: Heads; readonly control: ControlPlane }): BrokerRoutes | undefined {
  const { self, peers, control } = deps;
  if (self === undefined || peers === undefined) return undefined;
  return createRoutes({ ...deps, self: self.id, peers, directory: control.directory, leader: control.leaderService });
}

/** Tells the leader in the background. What fails is only counted: the next heartbeat says the same, and who leads looks by itself. */
function nudge(
  { self, peers, control, background, telemetry }: PublishingPorts & { readonly control: ControlPlane },
  topic: TopicId,
  pressures: readonly SegmentPressure[],
): void {
  if (self === undefined && peers === undefined) return;
  background.run('nudge', LEADER_ASK_MS_MAX, async (signal) => {
    await control.leaderService.nudge(topic, pressures, signal).catch(() => telemetry.count('kelp.nudges.failed', 1));
  });
}
