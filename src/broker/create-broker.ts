import type { OldMessages } from '../archive/old-messages.ts';
import { createConsumer } from '../consume/create-consumer.ts';
import type { Consumer } from '../consume/page.ts';
import { createControl } from '../control/create-control.ts';
import type { Sweep } from '../model/sweep-report.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Presigner } from '../ports/presigner.ts';
import { createHeads } from '../state/heads.ts';
import { createArchives } from '../state/known-archives.ts';
import { oldMessagesOf } from './create-old-messages.ts';
import { createPublishing, type Publishing, type PublishingPorts } from './create-publishing.ts';
import { sweep, type SweepingPorts } from './sweep.ts';

export type BrokerPorts = PublishingPorts & SweepingPorts & { readonly authenticator: Authenticator };

/** A broker without its HTTP: the services that share what this instance has seen of heads and archives. */
export type Broker = Publishing & {
  readonly consumer: Consumer;
  readonly oldMessages: OldMessages;
  readonly presigner: Presigner;
  readonly sweep: Sweep;
};

export function createBroker(ports: BrokerPorts): Broker {
  const deps = { ...ports, heads: createHeads(ports.table), archives: createArchives(ports), controlOf: createControl };
  const consumer = createConsumer(deps);
  return {
    ...createPublishing(deps),
    consumer,
    oldMessages: oldMessagesOf(deps, consumer),
    presigner: ports.presigner,
    sweep: (options, signal) => sweep(deps, options, signal),
  };
}
