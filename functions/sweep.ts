import { createLeanTable } from '../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { assembleSweep } from '../src/cli/assemble-sweep.ts';
import { readStoresConfiguration } from '../src/cli/environment.ts';
import { readLifetimes } from '../src/cli/lifetimes.ts';

// What a schedule starts: what deleted topics have left goes, uploads that nobody has submitted, messages that were kept long enough, and what
// nobody refers to any more. It needs both stores, and no other secret.
const { table, store } = readStoresConfiguration(process.env);
const clock = createSystemClock();

export const handler = assembleSweep(readLifetimes(process.env), {
  table: createLeanTable({ ...table, clock }),
  store: createLeanStore({ ...store, clock }),
  clock,
  write: (line) => console.log(line),
});
