import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSdkTable } from '../../src/adapters/dynamodb/sdk-table.ts';
import { createFetchStore } from '../../src/adapters/fetch/fetch-store.ts';
import { createFetchTable } from '../../src/adapters/fetch/fetch-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { describeStoreConnections, describeStoreFailures } from './store-failures.ts';
import { describeTableConnections, describeTableFailures } from './table-failures.ts';

const ACCESS = { region: 'us-east-1', accessKey: 'access', secretKey: 'secret', clock: createSystemClock() };
const TABLE = { ...ACCESS, table: 'kelp' };
const STORE = { ...ACCESS, bucket: 'kelp' };

for (const [name, table, store] of [
  ['by the SDK', createSdkTable, createSdkStore],
  ['by signed requests', createLeanTable, createLeanStore],
] as const) {
  describeTableFailures(name, (endpoint) => table({ ...TABLE, endpoint }));
  describeTableConnections(name, (endpoint) => table({ ...TABLE, endpoint }));
  describeStoreFailures(name, (endpoint) => store({ ...STORE, endpoint }));
  describeStoreConnections(name, (endpoint) => store({ ...STORE, endpoint }));
}

describeTableFailures('by fetch', (endpoint) => createFetchTable({ ...TABLE, endpoint }), { ownSockets: false });
describeStoreFailures('by fetch', (endpoint) => createFetchStore({ ...STORE, endpoint }), { ownSockets: false });
