import { createLeanStore } from '../adapters/s3/lean-store.ts';
import { createServiceClock } from '../adapters/signed-http/service-clock.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { sweepRegularly } from '../broker/sweep-regularly.ts';
import { READ_BYTES_MAX, WAIT_MS_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { assembleBroker } from './assemble-broker.ts';
import type { Configuration } from './configuration.ts';
import type { Fetch } from './http-server.ts';

export type Broker = {
  readonly fetch: Fetch;
  /** What the process counts and logs. */
  readonly telemetry: Telemetry;
  /**
   * Is not ready any more, and serves on while its segments are moved to other brokers; resolves with whether there were
   * others to take them. At once if it is the only one.
   */
  leave(signal: AbortSignal): Promise<boolean>;
  /**
   * Answers waiting readers, refuses new publishes; resolves when those in flight and the work behind them have ended, or the
   * signal aborts.
   */
  stop(signal: AbortSignal): Promise<void>;
};

export type BrokerOptions = {
  readonly table: MetadataTable;
  /** Where clients and other brokers reach it. */
  readonly url: string;
  /** Takes log lines. */
  readonly write: (line: string) => void;
};

/** The whole broker of a process. It takes part in the control plane from now on. */
export function createBroker(configuration: Configuration, { table, url, write }: BrokerOptions): Broker {
  const clock = createSystemClock();
  // What is signed for others goes by the store's time as well: a machine whose clock is off would hand out URLs that are refused.
  const storeClock = createServiceClock(clock);
  const { id, zone } = configuration.broker;
  const { app, publisher, control, background, telemetry, sweeping, leaving, stopping } = assembleBroker(configuration, {
    table,
    store: createLeanStore({ ...configuration.store, clock, serviceClock: storeClock }),
    clock,
    storeClock,
    write,
    limits: { requestBytesMax: configuration.requestBytesMax, readBytesMax: READ_BYTES_MAX, waitMsMax: WAIT_MS_MAX },
    runtime: { streams: true, remainingMs: () => undefined },
    self: { id, url, kind: 'process', zone },
  });
  const life = new AbortController();
  const running = Promise.all([control.run(life.signal), sweepRegularly({ ...sweeping, everyMs: configuration.sweepMs }, life.signal)]);
  return {
    fetch: app.fetch,
    telemetry,
    leave(signal) {
      leaving.abort();
      return control.leave(signal);
    },
    async stop(signal) {
      stopping.abort();
      life.abort();
      await publisher.stop(signal);
      await background.settled(signal);
      await running;
    },
  };
}
