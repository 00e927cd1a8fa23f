import { createReading } from '../broker/create-reading.ts';
import { createApp } from '../http/app.ts';
import type { FunctionHandler } from '../http/function-handler.ts';
import { readingHandlers } from '../http/reading-handlers.ts';
import { assembleFunctionInstance, functionHandler, type FunctionParts } from './assemble-function.ts';
import type { Configuration } from './configuration.ts';

/** The function that reads messages. */
export function assembleReadFunction(configuration: Configuration, parts: FunctionParts): FunctionHandler {
  const instance = assembleFunctionInstance(configuration, parts);
  const deps = { ...instance.app, ...createReading(instance.ports) };
  return functionHandler(createApp(deps, readingHandlers(deps)), instance);
}
