import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import { createSignedTable } from '../dynamodb/signed-table.ts';
import type { TableSettings } from '../dynamodb/table-settings.ts';
import { createFetchExchange } from './fetch-exchange.ts';

export const createFetchTable = (settings: TableSettings & { readonly clock: Clock }): MetadataTable =>
  createSignedTable({ ...settings, connect: createFetchExchange });
