import { createFetchStore } from '../../src/adapters/fetch/fetch-store.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { freshPrefix, sharedStack } from '../stack.ts';
import { describeObjectStore } from './object-store.ts';

describeObjectStore('SeaweedFS by the SDK', async () => ({ store: createSdkStore(sharedStack().store), prefix: freshPrefix() }));
describeObjectStore('SeaweedFS by signed requests', async () => ({
  store: createLeanStore({ ...sharedStack().store, clock: createSystemClock() }),
  prefix: freshPrefix(),
}));
describeObjectStore('SeaweedFS by fetch', async () => ({
  store: createFetchStore({ ...sharedStack().store, clock: createSystemClock() }),
  prefix: freshPrefix(),
}));
