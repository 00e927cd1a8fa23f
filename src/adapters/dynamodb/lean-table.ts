import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import { keptConnections } from '../signed-http/exchange.ts';
import { createSignedTable } from './signed-table.ts';
import type { TableSettings } from './table-settings.ts';

/** The port by plain signed requests: a fraction of the SDK's work for each (src/adapters/README.md). */
export const createLeanTable = (settings: TableSettings & { readonly clock: Clock }): MetadataTable =>
  createSignedTable({ ...settings, connect: keptConnections(settings.clock) });
