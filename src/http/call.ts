import type { Context } from 'hono';
import type { Operation } from './paths.ts';

/** One request on its way through a handler. */
export type Call = {
  readonly context: Context;
  /** Aborts at the caller's deadline, or when the caller has gone. */
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** Counts bytes of a body as held until the request is answered. Error `unavailable` when too many are. */
  hold(bytes: number): void;
  /** Headers of the answer, besides its own, should it become a problem. Those that are given last count. */
  onProblem(headers: Readonly<Record<string, string>>): void;
};

export type Handler = (call: Call) => Response | Promise<Response>;

/** What an app answers besides what every app does. */
export type AllHandlers = Readonly<Record<Exclude<Operation, 'livez' | 'about'>, Handler>>;

/** Of an app that has some of the routes. */
export type Handlers = Partial<AllHandlers>;
