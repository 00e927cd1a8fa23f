import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { freshPrefix, sharedStack } from '../stack.ts';
import { describePresigner } from './presigner.ts';
import { sendByFetch } from './send-by-fetch.ts';

const clock = createSystemClock();

describePresigner('SeaweedFS', async () => ({
  store: createLeanStore({ ...sharedStack().store, clock }),
  presigner: createPresigner({ ...sharedStack().store, clock }),
  presignerOff: (ms) => createPresigner({ ...sharedStack().store, clock: { ...clock, nowMs: () => clock.nowMs() + ms } }),
  send: sendByFetch,
  prefix: freshPrefix(),
}));
