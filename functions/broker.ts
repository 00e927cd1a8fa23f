import { createLeanTable } from '../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { assembleBrokerFunction } from '../src/cli/assemble-broker-function.ts';
import { readFunctionConfiguration } from '../src/cli/function-configuration.ts';
import { onTerminate } from '../src/cli/on-terminate.ts';

// Takes messages, and answers whatever no other function does. Everything that it needs to know comes by environment, its credentials too.
const configuration = readFunctionConfiguration(process.env);
const clock = createSystemClock();

export const handler = assembleBrokerFunction(configuration, {
  table: createLeanTable({ ...configuration.table, clock }),
  store: createLeanStore({ ...configuration.store, clock }),
  clock,
  write: (line) => console.log(line),
  onTerminate,
});
