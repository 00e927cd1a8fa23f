import type { Hono } from 'hono';
import { createHash } from 'node:crypto';
import { createPeerSignatures } from '../adapters/peers/signature.ts';
import { createPrometheusTelemetry } from '../adapters/prometheus/telemetry.ts';
import { createAuthenticator } from '../adapters/system/authenticator.ts';
import { createBackground, type SystemBackground } from '../adapters/system/background.ts';
import { createCompression } from '../adapters/system/compression.ts';
import { createLoadMeter } from '../adapters/system/load-meter.ts';
import { rememberingStore } from '../adapters/wrap/remembering.ts';
import { wrapStore } from '../adapters/wrap/stores.ts';
import { createBroker as createServices } from '../broker/create-broker.ts';
import { createApp } from '../http/app.ts';
import type { ControlPlane } from '../control/create-control.ts';
import type { MemberAddress } from '../control/member.ts';
import type { HttpLimits, Internal, Runtime } from '../http/dependencies.ts';
import { RECENT_OBJECTS_BYTES_MAX } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Publisher } from '../publish/publisher.ts';
import { assembleMember } from './assemble-member.ts';
import type { Configuration } from './configuration.ts';

/** What differs between a process and a function. */
export type BrokerParts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly runtime: Runtime;
  /** Where clients and other brokers reach this one; absent: nowhere, and it takes no part in the control plane. */
  readonly self?: MemberAddress;
  /** Takes one log line. */
  readonly write: (line: string) => void;
  /** The longest that work behind a request may take, where that is less than it asks for. */
  readonly backgroundMsMax?: number;
};

export type AssembledBroker = {
  readonly app: Hono;
  readonly publisher: Publisher;
  readonly control: ControlPlane;
  readonly background: SystemBackground;
  /** Aborts when the broker is told to stop: it is not ready any more, and serves on until its segments are elsewhere. */
  readonly leaving: AbortController;
  /** Aborts when the broker begins to stop. */
  readonly stopping: AbortController;
};

/** Services and API over the given adapters: the same in every runtime. */
export function assembleBroker(configuration: Configuration, parts: BrokerParts): AssembledBroker {
  const { clock, limits, runtime, write, self, backgroundMsMax = Infinity } = parts;
  const exporter = createPrometheusTelemetry({ clock, write });
  const { telemetry, meter } = createLoadMeter({ clock, telemetry: exporter });
  const background = createBackground({
    clock: { ...clock, deadline: (ms) => clock.deadline(Math.min(ms, backgroundMsMax)) },
    telemetry,
  });
  const compression = createCompression({ codec: 'zstd' });
  const member = assembleMember(configuration, { table: parts.table, clock, telemetry });
  const secret = configuration.internalSecrets;
  const services = createServices({
    ...member,
    store: rememberingStore(wrapStore(parts.store, member), { bytesMax: RECENT_OBJECTS_BYTES_MAX }),
    compression,
    background,
    authenticator: createAuthenticator(configuration.secrets),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    meter,
    rebalanceMs: configuration.rebalanceMs,
    ...(self === undefined ? {} : { self }),
  });
  const leaving = new AbortController();
  const stopping = new AbortController();
  const internal: Internal | undefined =
    self === undefined || secret === undefined
      ? undefined
      : { self: self.id, operations: services.operations, verify: createPeerSignatures(secret, clock).verify };
  const app = createApp({
    ...services,
    ...(internal === undefined ? {} : { internal }),
    clock,
    telemetry,
    compression,
    rootToken: configuration.rootToken,
    limits,
    runtime,
    metrics: () => exporter.expose(),
    leaving: leaving.signal,
    stopping: stopping.signal,
  });
  return { app, publisher: services.publisher, control: services.control, background, leaving, stopping };
}
