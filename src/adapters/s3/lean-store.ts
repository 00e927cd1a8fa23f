import type { ObjectStore } from '../../ports/object-store.ts';
import { keptConnections } from '../signed-http/exchange.ts';
import type { Connecting } from '../signed-http/signed-exchange.ts';
import { createSignedStore } from './signed-store.ts';
import type { StoreSettings } from './store-settings.ts';

/** The port by plain signed requests: a fraction of the SDK's work for each (src/adapters/README.md). */
export const createLeanStore = (settings: StoreSettings & Omit<Connecting, 'connect'>): ObjectStore =>
  createSignedStore({ ...settings, connect: keptConnections(settings.clock) });
