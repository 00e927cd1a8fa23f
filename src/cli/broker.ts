import { createLeanTable } from '../adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../adapters/s3/lean-store.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { READ_BYTES_MAX, WAIT_MS_MAX } from '../model/limits.ts';
import { assembleBroker } from './assemble-broker.ts';
import type { Configuration } from './configuration.ts';
import type { Fetch } from './http-server.ts';

export type Broker = {
  readonly fetch: Fetch;
  /** Takes part from now on. `url`: where others reach it, which is known once it listens. */
  start(options: { readonly url: string }): void;
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

/** The whole broker of a process. `write` takes log lines. */
export function createBroker(configuration: Configuration, write: (line: string) => void): Broker {
  const clock = createSystemClock();
  const { app, publisher, background, leaving, stopping } = assembleBroker(configuration, {
    table: createLeanTable({ ...configuration.table, clock }),
    store: createLeanStore({ ...configuration.store, clock }),
    clock,
    write,
    limits: { requestBytesMax: configuration.requestBytesMax, readBytesMax: READ_BYTES_MAX, waitMsMax: WAIT_MS_MAX },
    runtime: { streams: true, remainingMs: () => undefined },
  });
  return {
    fetch: app.fetch,
    start: () => undefined,
    leave: () => {
      leaving.abort();
      return Promise.resolve(false);
    },
    async stop(signal) {
      stopping.abort();
      await publisher.stop(signal);
      await background.settled(signal);
    },
  };
}
