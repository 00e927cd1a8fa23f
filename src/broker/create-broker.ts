import { createConsumer } from '../consume/create-consumer.ts';
import type { Consumer } from '../consume/page.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Background } from '../ports/background.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { createCommitIds } from '../protocol/commit-id.ts';
import { createPublisher } from '../publish/publish.ts';
import type { Publisher } from '../publish/publisher.ts';
import { createHeads } from '../state/heads.ts';
import { createTopics } from '../topics/create-topics.ts';
import type { Topics } from '../topics/topics.ts';
import { probeStores } from './probe-stores.ts';

/** What a broker needs of its runtime. Reads of both stores are retried and attempts bounded by whoever made them. */
export type BrokerPorts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly compression: Compression;
  readonly background: Background;
  readonly authenticator: Authenticator;
  /** SHA-256 of the text's UTF-8, hexadecimal. */
  readonly sha256: (text: string) => string;
};

/** A broker without its HTTP: the services that share what this instance has seen of heads. */
export type Broker = {
  readonly topics: Topics;
  readonly publisher: Publisher;
  readonly consumer: Consumer;
  /** A real write, read and delete in both stores; rejects with what is wrong. */
  probe(signal: AbortSignal): Promise<void>;
};

export function createBroker(ports: BrokerPorts): Broker {
  const heads = createHeads(ports.table);
  const commitIds = createCommitIds(ports);
  const deps = { ...ports, heads, commitIds };
  return {
    topics: createTopics(deps),
    publisher: createPublisher(deps),
    consumer: createConsumer(deps),
    probe: (signal) => probeStores(ports, signal),
  };
}
