import type { Aim } from './aim.ts';
import type { Row } from './row.ts';

const FLOOD_SECONDS = 60;

/** What a flood is held against, where it was measured and segments might split. */
export function judgeFlood(rows: readonly Row[]): Aim[] {
  return [...judgeBrokers(rows), ...judgeFunctions(rows)];
}

function judgeFunctions(rows: readonly Row[]): Aim[] {
  return rows.flatMap(({ case: name, requests, errors, faults, firstError, unretryable, reliefSeconds }): Aim[] => {
    if (name !== 'n' || faults === undefined || unretryable === undefined) return [];
    const failed = `${unretryable} of ${requests + errors} did not; ${errors} were never acknowledged${firstError === undefined ? '' : ` (${firstError})`}`;
    const relief = reliefSeconds === undefined ? 'not relieved' : `from ${reliefSeconds.toFixed(0)} s on`;
    const [acknowledged, kept] = [
      'each publish ends acknowledged, or may be sent again',
      'none is lost, doubled, changed or out of its key’s order',
    ];
    return [
      { kind: 'aim', case: name, aim: acknowledged, figure: failed, met: unretryable === 0 },
      { kind: 'aim', case: name, aim: kept, figure: String(faults), met: faults === 0 },
      {
        kind: 'aim',
        case: name,
        aim: 'publishes take no longer than before while it goes on',
        figure: relief,
        met: reliefSeconds !== undefined,
      },
    ];
  });
}

function judgeBrokers(rows: readonly Row[]): Aim[] {
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
