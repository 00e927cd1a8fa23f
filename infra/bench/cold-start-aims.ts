import type { Aim } from './aim.ts';
import type { Row } from './row.ts';

const IMPORT_MS_MAX = 100;
/** A first publish, against a warm one. */
const FIRST_MORE_MS_MAX = 300;

/** What the start of a function is held against: the median of its rounds. */
export function judgeColdStarts(rows: readonly Row[]): Aim[] {
  const find = (name: string): Row | undefined => rows.find((row) => row.case === name);
  const imports = rows.flatMap(({ case: name, p50Ms }): Aim[] => {
    if (!/^o \w+ import$/.test(name)) return [];
    return [
      { kind: 'aim', case: name, aim: `loaded within ${IMPORT_MS_MAX} ms`, figure: `${p50Ms.toFixed(0)} ms`, met: p50Ms <= IMPORT_MS_MAX },
    ];
  });
  const [first, warm] = [find('o broker first'), find('o broker warm')];
  if (first === undefined || warm === undefined) return imports;
  const moreMs = first.p50Ms - warm.p50Ms;
  const figure = `${first.p50Ms.toFixed(0)} ms, ${moreMs.toFixed(0)} more than ${warm.p50Ms.toFixed(1)}`;
  const aim = `the first publish takes ${FIRST_MORE_MS_MAX} ms more than a warm one at most`;
  return [...imports, { kind: 'aim', case: first.case, aim, figure, met: moreMs <= FIRST_MORE_MS_MAX }];
}
