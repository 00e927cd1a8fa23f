import { createLeanTable } from '../adapters/dynamodb/lean-table.ts';
import type { TableSettings } from '../adapters/dynamodb/table-settings.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';

/** A process' table: without keys by the SDK, which finds those of the machine's role, and is loaded for nothing else. */
export async function openTable(settings: TableSettings, clock: Clock): Promise<MetadataTable> {
  if (settings.accessKey !== undefined) return createLeanTable({ ...settings, clock });
  const { createSdkTable } = await import('../adapters/dynamodb/sdk-table.ts');
  return createSdkTable(settings);
}
