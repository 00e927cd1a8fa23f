import * as limits from '../model/function-limits.ts';
import type { InstanceParts } from './assemble-instance.ts';
import { type Configuration, readConfiguration, type RuntimeBounds } from './configuration.ts';
import type { Variables } from './environment.ts';

/** All instances of all functions are one broker. */
const BOUNDS: RuntimeBounds = { requestBytesMax: limits.FUNCTION_REQUEST_BYTES_MAX, defaults: { KELP_BROKER_ID: 'fleet' } };

/** Errors as of readVariables. */
export const readFunctionConfiguration = (environment: Variables): Configuration => readConfiguration(environment, BOUNDS);

/** Of an instance of any function, at the edge too. */
export const functionBounds = ({ requestBytesMax }: Configuration): Pick<InstanceParts, 'limits' | 'backgroundMsMax'> => ({
  limits: { requestBytesMax, readBytesMax: limits.FUNCTION_READ_BYTES_MAX, waitMsMax: limits.FUNCTION_WAIT_MS_MAX },
  backgroundMsMax: limits.FUNCTION_BACKGROUND_MS_MAX,
});
