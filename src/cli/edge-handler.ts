import { problemOf, problemResponse } from '../http/problem.ts';
import type { Probed } from '../http/dependencies.ts';
import { KelpError } from '../model/errors.ts';
import { FUNCTION_BACKGROUND_MS_MAX, RUNTIME_MARGIN_MS } from '../model/function-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Configuration } from './configuration.ts';
import type { Variables } from './environment.ts';
import { explainError } from './explain-error.ts';
import { readFunctionConfiguration } from './function-configuration.ts';

/** What a module of workerd exports. */
export type EdgeHandler = { fetch(request: Request, environment: Variables, context: EdgeContext): Promise<Response> };

export type EdgeContext = {
  /** Keeps what the request has begun alive behind its answer. */
  waitUntil(work: Promise<unknown>): void;
};

/** One request's. */
export type EdgeInstance = {
  answer(request: Request): Promise<Response>;
  /** Resolves when no work that the request has left behind is under way; rejects with the signal's reason. */
  settled(signal: AbortSignal): Promise<void>;
};

export type EdgeParts = {
  readonly clock: Clock;
  /** Takes one log line. */
  readonly write: (line: string) => void;
  /** `probed`: shared by all requests. */
  readonly assemble: (configuration: Configuration, probed: Probed) => EdgeInstance;
};

/**
 * An instance for each request: in workerd none may wait for what another one has begun, so there is nothing to share, be it
 * groups of commits or connections, but what is over: anybody may ask whether the stores answer, which costs both of them
 * something, so that what the last probe has found is known to the next requests. The environment is read with the first one.
 */
export function createEdgeHandler({ clock, write, assemble }: EdgeParts): EdgeHandler {
  let configuration: Configuration | undefined;
  const probed: Probed = {};
  return {
    async fetch(request, environment, context) {
      let instance: EdgeInstance;
      try {
        configuration ??= readFunctionConfiguration(environment);
        instance = assemble(configuration, probed);
      } catch (error) {
        write(explainError(error));
        return problemResponse(problemOf(new KelpError('unavailable', 'unavailable', 'the environment is not right: the log says why')));
      }
      const response = await instance.answer(request);
      // Each piece of that work has a bound of its own, which ends before this one.
      context.waitUntil(instance.settled(clock.deadline(FUNCTION_BACKGROUND_MS_MAX + RUNTIME_MARGIN_MS)));
      return response;
    },
  };
}
