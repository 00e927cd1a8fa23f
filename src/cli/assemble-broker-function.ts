import { createPublishing } from '../broker/create-publishing.ts';
import { createControl } from '../control/create-control.ts';
import { createApp } from '../http/app.ts';
import type { FunctionHandler } from '../http/function-handler.ts';
import { publishingHandlers } from '../http/publishing-handlers.ts';
import { IDLE } from '../model/broker.ts';
import { LEAVE_MS_MAX } from '../model/limits.ts';
import { createHeads } from '../state/heads.ts';
import { assembleFunctionInstance, functionHandler, type LeadingParts } from './assemble-function.ts';
import { internalOf } from './assemble-instance.ts';
import type { Configuration } from './configuration.ts';
import { stayRegistered } from './stay-registered.ts';

/** The function that takes messages, and what brokers ask of each other; it registers the fleet where that has an address. */
export function assembleBrokerFunction(configuration: Configuration, { onTerminate, ...parts }: LeadingParts): FunctionHandler {
  const instance = assembleFunctionInstance(configuration, parts);
  const { ports } = instance;
  const services = createPublishing({
    ...ports,
    heads: createHeads(ports.table),
    controlOf: createControl,
    meter: { sample: () => IDLE },
  });
  const deps = { ...instance.app, ...services, ...internalOf(configuration, instance, services.operations) };
  onTerminate(() => services.control.leave(ports.clock.deadline(LEAVE_MS_MAX)));
  const handler = functionHandler(createApp(deps, publishingHandlers(deps)), instance);
  return stayRegistered(handler, { ...ports, register: services.control.run });
}
