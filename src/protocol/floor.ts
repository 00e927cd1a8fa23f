import { type Minute, minuteAfter } from '../model/ids.ts';
import type { Update } from '../ports/metadata-table.ts';

/**
 * Refuses from now on whatever was stored in this minute or before it (G2, U3: it only ever rises). A sealed head needs none:
 * nothing lands there any more. Refused: so it is already; the item that comes back shows why.
 */
export function floorUpdate(minute: Minute): Update {
  const floor = minuteAfter(minute);
  return {
    condition: [
      { op: '<', path: ['f'], value: floor },
      { op: 'or', any: [[{ op: '=', path: ['state'], value: 'open' }], [{ op: '=', path: ['state'], value: 'pending' }]] },
    ],
    changes: [{ op: 'set', path: ['f'], value: floor }],
  };
}
