import { type Minute, minuteOf } from '../model/ids.ts';
import type { Update } from '../ports/metadata-table.ts';

const MINUTE_MS = 60_000;

/**
 * Refuses from now on whatever was stored in this minute or before it (G2, U3: it only ever rises). A sealed head needs none:
 * nothing lands there any more. Refused: so it is already; the item that comes back shows why.
 */
export function floorUpdate(minute: Minute): Update {
  const floor = minuteOf((Number(minute) + 1) * MINUTE_MS);
  return {
    condition: [
      { op: '<', path: ['f'], value: floor },
      { op: 'or', any: [[{ op: '=', path: ['state'], value: 'open' }], [{ op: '=', path: ['state'], value: 'pending' }]] },
    ],
    changes: [{ op: 'set', path: ['f'], value: floor }],
  };
}
