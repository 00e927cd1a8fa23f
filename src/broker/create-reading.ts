import type { OldMessages } from '../archive/old-messages.ts';
import { createConsumer } from '../consume/create-consumer.ts';
import type { Consumer } from '../consume/page.ts';
import type { Presigner } from '../ports/presigner.ts';
import { createReferences } from '../reference/create-references.ts';
import type { References } from '../reference/references.ts';
import { createHeads } from '../state/heads.ts';
import { createArchives } from '../state/known-archives.ts';
import { createTopicResolver } from '../topics/resolve-topic.ts';
import type { Topics } from '../topics/topics.ts';
import type { BrokerPorts } from './create-broker.ts';
import { oldMessagesOf } from './create-old-messages.ts';

export type ReadingPorts = Omit<BrokerPorts, 'sha256' | 'meter' | 'self' | 'peers' | 'rebalanceMs'>;

export type Reading = {
  readonly topics: Pick<Topics, 'resolve'>;
  readonly consumer: Consumer;
  readonly oldMessages: OldMessages;
  readonly presigner: Presigner;
  readonly references: References;
};

/** The readers of a broker alone. They write only to carry on a change of a topic's that somebody was stopped in, and to let old messages go. */
export function createReading(ports: ReadingPorts): Reading {
  const deps = { ...ports, heads: createHeads(ports.table), archives: createArchives(ports) };
  const consumer = createConsumer(deps);
  return {
    topics: createTopicResolver(deps),
    consumer,
    oldMessages: oldMessagesOf(deps, consumer),
    presigner: ports.presigner,
    references: createReferences(ports),
  };
}
