import { createHash } from 'node:crypto';
import { createLeanTable } from '../adapters/dynamodb/lean-table.ts';
import { createPrometheusTelemetry } from '../adapters/prometheus/telemetry.ts';
import { createLeanStore } from '../adapters/s3/lean-store.ts';
import { createAuthenticator } from '../adapters/system/authenticator.ts';
import { createBackground } from '../adapters/system/background.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { createCompression } from '../adapters/system/compression.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { wrapStore, wrapTable } from '../adapters/wrap/stores.ts';
import { createBroker as createServices } from '../broker/create-broker.ts';
import { createApp } from '../http/app.ts';
import { READ_BYTES_MAX, WAIT_MS_MAX } from '../model/limits.ts';
import type { Configuration } from './configuration.ts';
import type { Fetch } from './http-server.ts';

export type Broker = {
  readonly fetch: Fetch;
  /**
   * Answers waiting readers, refuses new publishes; resolves when those in flight and the work behind them have ended, or the
   * signal aborts.
   */
  stop(signal: AbortSignal): Promise<void>;
};

/** The whole broker of a process: adapters, services, app. `write` takes log lines. */
export function createBroker(configuration: Configuration, write: (line: string) => void): Broker {
  const clock = createSystemClock();
  const random = createSystemRandom();
  const telemetry = createPrometheusTelemetry({ clock, write });
  const background = createBackground({ clock, telemetry });
  const compression = createCompression({ codec: 'zstd' });
  const wrapping = { clock, random, telemetry };
  const services = createServices({
    ...wrapping,
    table: wrapTable(createLeanTable({ ...configuration.table, clock }), wrapping),
    store: wrapStore(createLeanStore({ ...configuration.store, clock }), wrapping),
    compression,
    background,
    authenticator: createAuthenticator(configuration.secrets),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
  });
  const stopping = new AbortController();
  const app = createApp({
    ...services,
    clock,
    telemetry,
    compression,
    rootToken: configuration.rootToken,
    limits: { requestBytesMax: configuration.requestBytesMax, readBytesMax: READ_BYTES_MAX, waitMsMax: WAIT_MS_MAX },
    runtime: { streams: true, remainingMs: () => undefined },
    metrics: () => telemetry.expose(),
    stopping: stopping.signal,
  });
  return {
    fetch: app.fetch,
    async stop(signal) {
      stopping.abort();
      await services.publisher.stop(signal);
      await background.settled(signal);
    },
  };
}
