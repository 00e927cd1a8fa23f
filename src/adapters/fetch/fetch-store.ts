import type { Clock } from '../../ports/clock.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import { createSignedStore } from '../s3/signed-store.ts';
import type { StoreSettings } from '../s3/store-settings.ts';
import { createFetchExchange } from './fetch-exchange.ts';

export const createFetchStore = (settings: StoreSettings & { readonly clock: Clock }): ObjectStore =>
  createSignedStore({ ...settings, connect: createFetchExchange });
