import { createHash } from 'node:crypto';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createAuthenticator } from '../../src/adapters/system/authenticator.ts';
import { createBackground } from '../../src/adapters/system/background.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { wrapStore, wrapTable } from '../../src/adapters/wrap/stores.ts';
import { type Broker, createBroker } from '../../src/broker/create-broker.ts';
import { IDLE } from '../../src/model/broker.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { silent as telemetry } from '../consume/fixture.ts';
import type { StoreAddress, TableAddress } from '../stack.ts';

/** What a broker reads and writes; the store as it is, without retries, for looking behind its back. */
export type RealBroker = Broker & { readonly store: ObjectStore; settled(): Promise<void> };

/** A broker's services without HTTP, on real stores; each call is another instance, which knows nothing of the others. */
export function createRealBroker(addresses: { readonly store: StoreAddress; readonly table: TableAddress }): RealBroker {
  const clock = createSystemClock();
  const wrapping = { clock, random: createSystemRandom(), telemetry };
  const store = createLeanStore({ ...addresses.store, clock });
  const background = createBackground({ clock, telemetry });
  const broker = createBroker({
    ...wrapping,
    table: wrapTable(createLeanTable({ ...addresses.table, clock }), wrapping),
    store: wrapStore(store, wrapping),
    presigner: createPresigner({ ...addresses.store, clock }),
    compression: createCompression({ codec: 'zstd' }),
    background,
    authenticator: createAuthenticator(['a secret of the test']),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    meter: { sample: () => IDLE },
  });
  return { ...broker, store, settled: () => background.settled(AbortSignal.timeout(30_000)) };
}
