import { createLeading } from '../broker/create-leading.ts';
import { createApp } from '../http/app.ts';
import type { Runtime } from '../http/dependencies.ts';
import { type FunctionHandler, functionRuntime } from '../http/function-handler.ts';
import { leadingHandlers } from '../http/leading-handlers.ts';
import { LEASE_RELEASE_MS_MAX, LEAVE_MS_MAX } from '../model/limits.ts';
import { assembleFunctionInstance, functionHandler, type LeadingParts } from './assemble-function.ts';
import type { Configuration } from './configuration.ts';
import { stayRegistered } from './stay-registered.ts';

/** At the end of its time, it has to give the lease back before it can answer. */
const leadingRuntime: Runtime = {
  ...functionRuntime,
  remainingMs(env) {
    const leftMs = functionRuntime.remainingMs(env);
    return leftMs === undefined ? undefined : leftMs - LEASE_RELEASE_MS_MAX;
  },
};

/** The function that changes topics, and leads for the calls that need it. */
export function assembleLeaderFunction(configuration: Configuration, { onTerminate, ...parts }: LeadingParts): FunctionHandler {
  const instance = assembleFunctionInstance(configuration, parts);
  const services = createLeading(instance.ports);
  const deps = { ...instance.app, ...services, runtime: leadingRuntime };
  onTerminate(() => services.control.leave(parts.clock.deadline(LEAVE_MS_MAX)));
  const handler = functionHandler(createApp(deps, leadingHandlers(deps)), instance);
  // Segments can be given to the fleet before anybody has published by it.
  return stayRegistered(handler, { ...instance.ports, register: services.control.run });
}
