import { parseArgs } from 'node:util';
import { KelpError } from '../src/model/errors.ts';

const MINUTES_DEFAULT = 10;
const MINUTES_MAX = 1_440;
const MINUTE_MS = 60_000;

export const USAGE = `npm run soak -- [--minutes N] [--seed TEXT]

Three brokers under load, of which one after the other is killed, paused, drained or told to stop; then everything is checked.

  --minutes N    how long, 1 to ${MINUTES_MAX} (${MINUTES_DEFAULT})
  --seed TEXT    letters and digits; the same seed draws the same misfortunes (KELP_TEST_SEED, or another one each time)`;

export type SoakOptions = { readonly runMs: number; /** Absent: any. */ readonly seed?: string };

/** Undefined where help was asked for. Error `invalid`/`invalid-option`, in one line. */
export function parseOptions(args: readonly string[], environment: Readonly<Record<string, string | undefined>>): SoakOptions | undefined {
  const { help, minutes = String(MINUTES_DEFAULT), seed = environment['KELP_TEST_SEED'] } = parseNames(args);
  if (help === true) return undefined;
  if (!/^\d{1,4}$/.test(minutes) || Number(minutes) < 1 || Number(minutes) > MINUTES_MAX)
    throw invalidOption(`--minutes must be a whole number from 1 to ${MINUTES_MAX}, but is "${minutes}"`);
  if (seed !== undefined && !/^\w{1,32}$/.test(seed)) throw invalidOption(`--seed takes 1 to 32 letters and digits, but not "${seed}"`);
  return { runMs: Number(minutes) * MINUTE_MS, ...(seed === undefined ? {} : { seed }) };
}

type Names = { readonly help?: boolean; readonly minutes?: string; readonly seed?: string };

function parseNames(args: readonly string[]): Names {
  const value = { type: 'string' } as const;
  try {
    return parseArgs({ args: [...args], options: { help: { type: 'boolean', short: 'h' }, minutes: value, seed: value }, strict: true })
      .values;
  } catch (cause) {
    // Its messages go on with advice on how to escape a dash.
    const [line = 'not an option'] = (cause as Error).message.split('. ');
    throw invalidOption(line, cause);
  }
}

function invalidOption(message: string, cause?: unknown): KelpError {
  return new KelpError('invalid', 'invalid-option', message, { cause });
}
