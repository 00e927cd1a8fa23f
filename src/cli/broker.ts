import { Hono } from 'hono';
import type { Configuration } from './configuration.ts';
import type { Fetch } from './http-server.ts';

export type Broker = {
  readonly fetch: Fetch;
  /** Refuses new publishes; resolves when those in flight have ended or the signal aborts. */
  stop(signal: AbortSignal): Promise<void>;
};

/** The whole broker of a process: adapters, services, app. */
export function createBroker(_configuration: Configuration): Broker {
  const app = new Hono();
  app.get('/livez', (c) => c.text('ok'));
  app.get('/readyz', (c) => c.text('ok'));
  return { fetch: app.fetch, stop: () => Promise.resolve() };
}
