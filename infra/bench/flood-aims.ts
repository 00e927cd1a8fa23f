import type { Aim } from './aim.ts';
import type { Row } from './row.ts';

const FLOOD_SECONDS = 60;

/** What a flood is held against, where it was measured and segments might split. */
export function judgeFlood(rows: readonly Row[]): Aim[] {
  return rows.flatMap(({ case: name, requests, errors, firstError, faults, reliefSeconds }): Aim[] => {
    if (name !== 'm' || faults === undefined) return [];
    const failed = `${errors} of ${requests + errors}${firstError === undefined ? '' : ` (${firstError})`}`;
    return [
      { kind: 'aim', case: name, aim: 'no publish fails in a flood', figure: failed, met: errors === 0 },
      {
        kind: 'aim',
        case: name,
        aim: 'none is lost, doubled, changed or out of its key’s order',
        figure: String(faults),
        met: faults === 0,
      },
      {
        kind: 'aim',
        case: name,
        aim: `publishes take no longer than before while it goes on, ${FLOOD_SECONDS} s`,
        figure: reliefSeconds === undefined ? 'not relieved' : `from ${reliefSeconds.toFixed(0)} s on`,
        met: reliefSeconds !== undefined,
      },
    ];
  });
}
