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
import { createHeads } from '../state/heads.ts';
import { createTopicResolver } from '../topics/resolve-topic.ts';
import type { Topics } from '../topics/topics.ts';

/** Reads of both stores are retried and attempts bounded by whoever made them. */
export type ReadingPorts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly compression: Compression;
  readonly background: Background;
  readonly authenticator: Authenticator;
};

export type Reading = { readonly topics: Pick<Topics, 'resolve'>; readonly consumer: Consumer };

/** The readers of a broker alone. They write only to carry on a change of a topic's that somebody was stopped in. */
export function createReading(ports: ReadingPorts): Reading {
  const deps = { ...ports, heads: createHeads(ports.table) };
  return { topics: createTopicResolver(deps), consumer: createConsumer(deps) };
}
