import { parseArgs } from 'node:util';
import { KelpError } from '../../src/model/errors.ts';
import { TRACE_NAMES, type TraceName } from './traces.ts';

const SEED_DEFAULT = 1;
const OUT_DEFAULT = 'dist/simulate';

export const USAGE = `npm run simulate -- [--only step,zipf] [--seed N] [--out FOLDER]

Splits and merges on virtual time, by Kelp's planner and by the rules of another system, without stores.

  --only TRACES  some of ${TRACE_NAMES.join(',')} (all)
  --seed N       of keys and chance, an integer from 0 (${SEED_DEFAULT}); the same seed, the same figures but for times
  --out FOLDER   a chart of each trace goes there (${OUT_DEFAULT})`;

export type SimulateOptions = { readonly traces: readonly TraceName[]; readonly seed: number; readonly out: string };

/** Undefined where help was asked for. Error `invalid`/`invalid-option`, in one line. */
export function parseOptions(args: readonly string[]): SimulateOptions | undefined {
  const { help, only, seed, out } = parseNames(args);
  if (help === true) return undefined;
  const traces = only === undefined ? TRACE_NAMES : parseTraces(only);
  const number = Number(seed ?? SEED_DEFAULT);
  if (!/^\d+$/.test(seed ?? '1') || !Number.isSafeInteger(number)) throw invalidOption('--seed takes an integer from 0');
  if (out === '') throw invalidOption('--out takes a folder');
  return { traces, seed: number, out: out ?? OUT_DEFAULT };
}

type Names = { readonly help?: boolean; readonly only?: string; readonly seed?: string; readonly out?: string };

function parseNames(args: readonly string[]): Names {
  const value = { type: 'string' } as const;
  try {
    const options = { help: { type: 'boolean', short: 'h' }, only: value, seed: value, out: value } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (cause) {
    const [line = 'not an option'] = (cause as Error).message.split(/\.\s/);
    throw invalidOption(line, cause);
  }
}

function parseTraces(text: string): readonly TraceName[] {
  const names = text.split(',');
  const unknown = names.find((name) => !(TRACE_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) throw invalidOption(`--only takes traces of ${TRACE_NAMES.join(',')}, but not "${unknown}"`);
  return TRACE_NAMES.filter((name) => names.includes(name));
}

const invalidOption = (message: string, cause?: unknown): KelpError => new KelpError('invalid', 'invalid-option', message, { cause });
