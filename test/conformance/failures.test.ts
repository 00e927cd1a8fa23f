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

describeTableFailures('by the SDK', (endpoint) => createSdkTable({ ...TABLE, endpoint }));
describeTableFailures('by signed requests', (endpoint) => createLeanTable({ ...TABLE, endpoint, clock }));
describeStoreFailures('by the SDK', (endpoint) => createSdkStore({ ...STORE, endpoint }));
describeStoreFailures('by signed requests', (endpoint) => createLeanStore({ ...STORE, endpoint, clock }));
