import { createLeading } from '../broker/create-leading.ts';
import { createApp } from '../http/app.ts';
import type { FunctionHandler } from '../http/function-handler.ts';
import { leadingHandlers } from '../http/leading-handlers.ts';
import { FUNCTION_BACKGROUND_MS_MAX } from '../model/limits.ts';
import { assembleFunctionInstance, functionHandler, type FunctionParts } from './assemble-function.ts';
import type { Configuration } from './configuration.ts';

/** The function that changes topics, and leads for the calls that need it. */
export function assembleLeaderFunction(configuration: Configuration, parts: FunctionParts): FunctionHandler {
  const instance = assembleFunctionInstance(configuration, parts);
  const services = createLeading(instance.ports);
  const deps = { ...instance.app, ...services };
  // Segments can be given to the fleet before anybody has published by it.
  instance.ports.background.run('register', FUNCTION_BACKGROUND_MS_MAX, services.control.run);
  return functionHandler(createApp(deps, leadingHandlers(deps)), instance);
}
