import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readStoresConfiguration } from '../../src/cli/environment.ts';
import { explainError } from '../../src/cli/explain-error.ts';
import { makeBucket } from './make-bucket.ts';
import { readUploadOrigins } from './upload-origins.ts';

// `node infra/local/make-stores.ts`: makes bucket and table where they are missing, for brokers that are started without `npm start`.
// Which ones, comes by environment, as a broker has it. Safe to run again, also while brokers run.

const MS_MAX = 30_000;

try {
  const { table, store } = readStoresConfiguration(process.env);
  const signal = AbortSignal.timeout(MS_MAX);
  await Promise.all([makeBucket(store, readUploadOrigins(process.env), signal), createTable(table, createSystemClock(), signal)]);
  console.log(`bucket ${store.bucket} and table ${table.table} are there`);
} catch (error) {
  console.error(explainError(error));
  process.exitCode = 1;
}
