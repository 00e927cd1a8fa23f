import { createLeanTable } from '../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { assembleRebalance } from '../src/cli/assemble-rebalance.ts';
import { readCommonConfiguration } from '../src/cli/environment.ts';
import { onTerminate } from '../src/cli/on-terminate.ts';

// What a schedule starts: segments split and merge though no process leads. Its credentials are in its environment.
const configuration = readCommonConfiguration(process.env);
const clock = createSystemClock();

export const handler = assembleRebalance(configuration, {
  table: createLeanTable({ ...configuration.table, clock }),
  clock,
  write: (line) => console.log(line),
  onTerminate,
});
