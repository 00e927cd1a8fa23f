import type { Random } from '../ports/random.ts';

const RANDOM = 16;
const CHANGE_ID = /^c[0-9a-z]{16}$/;

/** Of a change of a topic's segments; unique for ever. */
export const newChangeId = (random: Random): string => `c${random.base36(RANDOM)}`;

export const isChangeId = (text: string): boolean => CHANGE_ID.test(text);
