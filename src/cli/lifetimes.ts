import * as z from 'zod/mini';
import {
  FILE_AGE_MS,
  FILE_AGE_MS_MAX,
  FILE_BYTES_MAX,
  FILE_BYTES_MIN,
  GARBAGE_AGE_MS,
  GARBAGE_AGE_MS_MAX,
} from '../model/archive-limits.ts';
import { isInteger, readVariables, variable, type Variables } from './environment.ts';

/** When messages become files, and when what those replace goes. */
export type Lifetimes = {
  /** How old the first message of a file may become, and what of batches a file has at most. */
  readonly fileAgeMs: number;
  readonly fileBytesMax: number;
  /** How long pages and objects outlive their file, and what nobody refers to outlives its minute. */
  readonly garbageAgeMs: number;
};

const integer = (what: string, min: number, max: number) =>
  variable(`a number of ${what} from ${min} to ${max}`, (text) => isInteger(text, min, max));

/** Of whoever archives, and of whoever cleans up behind that; the same for all. */
export const LIFETIME_VARIABLES = {
  KELP_ARCHIVE_AGE_MS: z.prefault(integer('milliseconds', 0, FILE_AGE_MS_MAX), String(FILE_AGE_MS)),
  KELP_ARCHIVE_BYTES: z.prefault(integer('bytes', FILE_BYTES_MIN, FILE_BYTES_MAX), String(FILE_BYTES_MAX)),
  KELP_GARBAGE_AGE_MS: z.prefault(integer('milliseconds', 0, GARBAGE_AGE_MS_MAX), String(GARBAGE_AGE_MS)),
};
const LifetimeVariables = z.object(LIFETIME_VARIABLES);

export function lifetimesOf(from: z.infer<typeof LifetimeVariables>): Lifetimes {
  return {
    fileAgeMs: Number(from.KELP_ARCHIVE_AGE_MS),
    fileBytesMax: Number(from.KELP_ARCHIVE_BYTES),
    garbageAgeMs: Number(from.KELP_GARBAGE_AGE_MS),
  };
}

/** Of a runtime that reads the rest of its environment by itself. Errors as of readVariables. */
export const readLifetimes = (environment: Variables): Lifetimes => lifetimesOf(readVariables(LifetimeVariables, environment));
