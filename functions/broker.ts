import { createSdkTable } from '../src/adapters/dynamodb/sdk-table.ts';
import { createSdkStore } from '../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { assembleBroker } from '../src/cli/assemble-broker.ts';
import { readConfiguration } from '../src/cli/configuration.ts';
import { createFunctionHandler, functionRuntime } from '../src/http/function-handler.ts';
import * as limits from '../src/model/limits.ts';

// The broker as a function: everything that it needs to know comes by environment.
const defaults = { KELP_BROKER_ID: 'fleet', KELP_REQUEST_BYTES_MAX: String(limits.FUNCTION_REQUEST_BYTES_MAX) };
const configuration = readConfiguration(process.env, defaults);
const { id, zone, publicUrl } = configuration.broker;
const clock = createSystemClock();
const { app, control, background } = assembleBroker(configuration, {
  table: createSdkTable(configuration.table),
  store: createSdkStore(configuration.store),
  clock,
  write: (line) => console.log(line),
  limits: {
    requestBytesMax: configuration.requestBytesMax,
    readBytesMax: limits.FUNCTION_READ_BYTES_MAX,
    waitMsMax: limits.FUNCTION_WAIT_MS_MAX,
  },
  runtime: functionRuntime,
  backgroundMsMax: limits.FUNCTION_BACKGROUND_MS_MAX,
  ...(publicUrl === undefined ? {} : { self: { id, url: publicUrl, kind: 'fleet', zone } }),
});
background.run('register', limits.FUNCTION_BACKGROUND_MS_MAX, control.run);

export const handler = createFunctionHandler(app, { clock, settled: background.settled });
