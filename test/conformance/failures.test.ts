import { createFetchStore } from '../../src/adapters/fetch/fetch-store.ts';
import { createFetchTable } from '../../src/adapters/fetch/fetch-table.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSdkTable } from '../../src/adapters/dynamodb/sdk-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { describeStoreFailures } from './store-failures.ts';
import { describeTableFailures } from './table-failures.ts';

const ACCESS = { region: 'us-east-1', accessKey: 'access', secretKey: 'secret' };
const TABLE = { ...ACCESS, table: 'kelp' };
const STORE = { ...ACCESS, bucket: 'kelp' };
const clock = createSystemClock();
const OWN = { ownSockets: true };
const RUNTIMES = { ownSockets: false };

describeTableFailures('by the SDK', (endpoint) => createSdkTable({ ...TABLE, endpoint }), OWN);
describeTableFailures('by signed requests', (endpoint) => createLeanTable({ ...TABLE, endpoint, clock }), OWN);
describeStoreFailures('by the SDK', (endpoint) => createSdkStore({ ...STORE, endpoint }), OWN);
describeStoreFailures('by signed requests', (endpoint) => createLeanStore({ ...STORE, endpoint, clock }), OWN);
describeTableFailures('by fetch', (endpoint) => createFetchTable({ ...TABLE, endpoint, clock }), RUNTIMES);
describeStoreFailures('by fetch', (endpoint) => createFetchStore({ ...STORE, endpoint, clock }), RUNTIMES);
