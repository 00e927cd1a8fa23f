import type { Hono } from 'hono';
import { createHttpPeers } from '../adapters/peers/http-peers.ts';
import { createPrometheusTelemetry } from '../adapters/prometheus/telemetry.ts';
import type { SystemBackground } from '../adapters/system/background.ts';
import { createLoadMeter } from '../adapters/system/load-meter.ts';
import { createBroker as createServices } from '../broker/create-broker.ts';
import type { SweepRegularlyDeps } from '../broker/sweep-regularly.ts';
import type { ControlPlane } from '../control/create-control.ts';
import { allHandlers } from '../http/all-handlers.ts';
import { createApp } from '../http/app.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Publisher } from '../publish/publisher.ts';
import { assembleInstance, type InstanceParts, internalOf } from './assemble-instance.ts';
import type { Configuration } from './configuration.ts';

export type BrokerParts = Omit<InstanceParts, 'telemetry' | 'peersOf'> & {
  /** Takes one log line. */
  readonly write: (line: string) => void;
};

export type AssembledBroker = {
  readonly app: Hono;
  readonly publisher: Publisher;
  readonly control: ControlPlane;
  readonly background: SystemBackground;
  readonly telemetry: Telemetry;
  readonly sweeping: Omit<SweepRegularlyDeps, 'everyMs'>;
  /** Aborts when the broker is told to stop: it is not ready any more, and serves on until its segments are elsewhere. */
  readonly leaving: AbortController;
  /** Aborts when the broker begins to stop. */
  readonly stopping: AbortController;
};

/** Services and API of a process, over the given adapters. */
export function assembleBroker(configuration: Configuration, { write, ...parts }: BrokerParts): AssembledBroker {
  const exporter = createPrometheusTelemetry({ clock: parts.clock, write });
  const { telemetry, meter } = createLoadMeter({ clock: parts.clock, telemetry: exporter });
  const instance = assembleInstance(configuration, { ...parts, telemetry, peersOf: createHttpPeers });
  const { ports, leaving, stopping } = instance;
  const services = createServices({ ...ports, meter, rebalanceMs: configuration.rebalanceMs });
  const deps = {
    ...instance.app,
    ...services,
    ...internalOf(configuration, instance, services.operations),
    metrics: () => exporter.expose(),
  };
  const app = createApp(deps, allHandlers(deps));
  return {
    app,
    publisher: services.publisher,
    control: services.control,
    background: ports.background,
    telemetry,
    sweeping: { ...ports, sweep: services.sweep },
    leaving,
    stopping,
  };
}
