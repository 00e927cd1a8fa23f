import { BROKERS_MAX } from '../../model/limits.ts';
import type { Connect, Exchange } from '../signed-http/exchange.ts';

/** Connections to a broker. Publishes have some of their own: a probe behind them would find a busy broker dead. */
export type Origin = {
  readonly publishes: Exchange;
  readonly others: Exchange;
  /** How far its clock is ahead of ours, as far as that mattered. */
  aheadMs: number;
};

/** Connections by origin, for so many as there may be brokers; idle ones of an origin that nobody asks for any more end by themselves. */
export function createOrigins(connect: Connect, originsMax = BROKERS_MAX): { of(url: string): Origin | undefined } {
  const origins = new Map<string, Origin>();
  return {
    of(url) {
      const origin = origins.get(url) ?? openOrigin(url, connect);
      if (origin === undefined) return undefined;
      origins.delete(url);
      origins.set(url, origin);
      const oldest = origins.keys().next();
      if (origins.size > originsMax && oldest.done !== true) origins.delete(oldest.value);
      return origin;
    },
  };
}

function openOrigin(url: string, connect: Connect): Origin | undefined {
  if (!/^https?:/.test(url) || !URL.canParse(url)) return undefined;
  return { publishes: connect(new URL(url)), others: connect(new URL(url)), aheadMs: 0 };
}
