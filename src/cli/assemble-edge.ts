import { createFetchPeers } from '../adapters/fetch/fetch-peers.ts';
import { createLogTelemetry } from '../adapters/system/log-telemetry.ts';
import { oldMessagesOf } from '../broker/create-old-messages.ts';
import { createPublishing } from '../broker/create-publishing.ts';
import { sweep } from '../broker/sweep.ts';
import { createConsumer } from '../consume/create-consumer.ts';
import { createAskingControl } from '../control/create-asking-control.ts';
import { createApp } from '../http/app.ts';
import type { Probed } from '../http/dependencies.ts';
import { leadingHandlers } from '../http/leading-handlers.ts';
import { publishingHandlers } from '../http/publishing-handlers.ts';
import { readingHandlers } from '../http/reading-handlers.ts';
import { IDLE } from '../model/broker.ts';
import type { Sweep } from '../model/sweep-report.ts';
import { createHeads } from '../state/heads.ts';
import { createArchives } from '../state/known-archives.ts';
import type { FunctionParts } from './assemble-function.ts';
import { assembleInstance } from './assemble-instance.ts';
import type { Configuration } from './configuration.ts';
import type { EdgeInstance } from './edge-handler.ts';
import { functionBounds } from './function-configuration.ts';

export type EdgeRequestParts = FunctionParts & { readonly probed: Probed };

/**
 * What answers one request at the edge: it takes and hands out messages, never leads, and is registered nowhere. What only a
 * leader can do is asked of one. A stream of events ends with its first page, since each look costs one of the request's calls.
 */
export function assembleEdge(configuration: Configuration, { write, probed, ...parts }: EdgeRequestParts): EdgeInstance {
  const instance = assembleInstance(configuration, {
    ...parts,
    telemetry: createLogTelemetry({ clock: parts.clock, write }),
    peersOf: createFetchPeers,
    ...functionBounds(configuration),
    runtime: { streams: false, remainingMs: () => undefined },
  });
  const ports = { ...instance.ports, heads: createHeads(instance.ports.table), archives: createArchives(instance.ports) };
  const publishing = createPublishing({ ...ports, controlOf: createAskingControl, meter: { sample: () => IDLE } });
  const consumer = createConsumer(ports);
  const deps = {
    ...instance.app,
    ...publishing,
    probed,
    consumer,
    oldMessages: oldMessagesOf(ports, consumer),
    presigner: ports.presigner,
    sweep: ((options, signal) => sweep(ports, options, signal)) satisfies Sweep,
  };
  const app = createApp(deps, { ...publishingHandlers(deps), ...readingHandlers(deps), ...leadingHandlers(deps) });
  return { answer: async (request) => app.fetch(request), settled: ports.background.settled };
}
