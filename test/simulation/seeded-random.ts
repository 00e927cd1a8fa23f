import type { Random } from '../../src/ports/random.ts';

/** The same numbers for the same seed. */
export type SeededRandom = Random & {
  /** An integer in [0, end). */
  integer(end: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(values: readonly [T, ...T[]]): T;
  /** A source of its own, so that one part's use doesn't change what another part gets. */
  fork(name: string): SeededRandom;
};

/** Small fast counter generator (sfc32): 128 bits of state, so that no two forks meet. */
export function createSeededRandom(seed: number | string): SeededRandom {
  let [a, b, c, counter] = stateOf(String(seed));
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let warmUp = 0; warmUp < 16; warmUp += 1) next();
  const integer = (end: number): number => Math.floor(next() * end);
  return {
    fraction: next,
    integer,
    chance: (probability) => next() < probability,
    pick: (values) => values[integer(values.length)] as (typeof values)[0],
    base36: (length) => Array.from({ length }, () => integer(36).toString(36)).join(''),
    fork: (name) => createSeededRandom(`${seed}/${name}`),
  };
}

/** Four words of FNV-1a over the seed's text, each begun elsewhere. */
function stateOf(text: string): [number, number, number, number] {
  const word = (start: number): number => {
    let hash = 0x811c9dc5 ^ start;
    for (const character of `${start}${text}`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
    return hash | 0;
  };
  return [word(1), word(2), word(3), word(4)];
}
