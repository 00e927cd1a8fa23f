import { CONNECTIONS_MAX, CONNECTION_IDLE_MS } from '../../model/limits.ts';

/** Settings of every client's agent. */
export const CONNECTION_POOL = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: CONNECTION_IDLE_MS } as const;
