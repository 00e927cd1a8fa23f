import { FUNCTION_REQUEST_BYTES_MAX } from '../model/function-limits.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { Variables } from './environment.ts';

/** All instances of all functions are one broker. */
const DEFAULTS = { KELP_BROKER_ID: 'fleet', KELP_REQUEST_BYTES_MAX: String(FUNCTION_REQUEST_BYTES_MAX) };

/** Errors as of readVariables. */
export const readFunctionConfiguration = (environment: Variables): Configuration => readConfiguration(environment, DEFAULTS);
