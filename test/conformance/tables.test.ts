import { createFetchTable } from '../../src/adapters/fetch/fetch-table.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSdkTable } from '../../src/adapters/dynamodb/sdk-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { freshTable } from '../stack.ts';
import { describeMetadataTable } from './metadata-table.ts';

const START_MS = 30_000;

// Two implementations of the API guard against the quirks of one.
for (const kind of ['dynoxide', 'ministack'] as const) {
  describeMetadataTable(`${kind} by the SDK`, async () => createSdkTable(await freshTable(kind, AbortSignal.timeout(START_MS))));
  describeMetadataTable(`${kind} by signed requests`, async () =>
    createLeanTable({ ...(await freshTable(kind, AbortSignal.timeout(START_MS))), clock: createSystemClock() }),
  );
  describeMetadataTable(`${kind} by fetch`, async () =>
    createFetchTable({ ...(await freshTable(kind, AbortSignal.timeout(START_MS))), clock: createSystemClock() }),
  );
}
