import { ATTEMPT_MS_MAX, STORED_READ_ATTEMPTS_MAX, TIMEOUT_MS_DEFAULT } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import type { Random } from '../../ports/random.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { boundedStore, boundedTable } from './bounded.ts';
import { measuredStore, measuredTable } from './measured.ts';
import { retryingStore, retryingTable } from './retrying.ts';

export type WrapDeps = { readonly clock: Clock; readonly random: Random; readonly telemetry: Telemetry };

/** An adapter as a broker wants it: each attempt bounded and measured, reads asked again. */
export function wrapTable(table: MetadataTable, deps: WrapDeps): MetadataTable {
  const bounded = boundedTable(table, { clock: deps.clock, attemptMsMax: ATTEMPT_MS_MAX });
  return retryingTable(measuredTable(bounded, deps), retries(deps));
}

/** As {@link wrapTable}. `attemptMsMax`: longer for whoever puts more at once than a broker does. */
export function wrapStore(store: ObjectStore, deps: WrapDeps, attemptMsMax = ATTEMPT_MS_MAX): ObjectStore {
  const bounded = boundedStore(store, { clock: deps.clock, attemptMsMax });
  return retryingStore(measuredStore(bounded, deps), retries(deps));
}

function retries({ clock, random }: WrapDeps) {
  return { clock, random, attemptsMax: STORED_READ_ATTEMPTS_MAX, budgetMs: TIMEOUT_MS_DEFAULT };
}
