import { beforeAll, describe, expect, test } from 'vitest';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { describeConditions } from './table-conditions.ts';
import { describeWholeItems } from './table-items.ts';
import { freshKey, signal } from './table-keys.ts';
import { describeQueries } from './table-queries.ts';
import { describeRaces } from './table-races.ts';
import { describeUpdates } from './table-updates.ts';

/** What every implementation of the port must do, sentence by sentence of src/ports/metadata-table.ts. */
export function describeMetadataTable(name: string, make: () => Promise<MetadataTable>): void {
  describe(`table: ${name}`, () => {
    let table: MetadataTable;
    beforeAll(async () => {
      table = await make();
    });
    const current = (): MetadataTable => table;
    describeWholeItems(current);
    describeConditions(current);
    describeUpdates(current);
    describeQueries(current);
    describeRaces(current);
    describeAborted(current);
  });
}

function describeAborted(table: () => MetadataTable): void {
  test('a call whose signal is aborted already does nothing and rejects with the reason', async () => {
    const key = freshKey();
    const reason = new Error('given up');
    const aborted = AbortSignal.abort(reason);
    await expect(table().put(key, { a: 1 }, [], aborted)).rejects.toBe(reason);
    await expect(table().update(key, { condition: [], changes: [] }, aborted)).rejects.toBe(reason);
    await expect(table().get(key, aborted)).rejects.toBe(reason);
    await expect(table().delete(key, [], aborted)).rejects.toBe(reason);
    await expect(table().query({ pk: key.pk, limit: 1 }, aborted)).rejects.toBe(reason);
    expect(await table().get(key, signal)).toBeUndefined();
  });
}
