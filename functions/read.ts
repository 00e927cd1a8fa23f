import { createLeanTable } from '../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { assembleReadFunction } from '../src/cli/assemble-read-function.ts';
import { readFunctionConfiguration } from '../src/cli/function-configuration.ts';

// Hands messages out: `handler` in pieces by a function URL, `buffered` whole by API Gateway. Everything that it needs to know comes
// by environment, its credentials too.
const configuration = readFunctionConfiguration(process.env);
const clock = createSystemClock();

export const { handler, buffered } = assembleReadFunction(configuration, {
  table: createLeanTable({ ...configuration.table, clock }),
  store: createLeanStore({ ...configuration.store, clock }),
  clock,
  write: (line) => console.log(line),
  platform: globalThis.awslambda,
});
