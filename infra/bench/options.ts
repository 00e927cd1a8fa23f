import { parseArgs } from 'node:util';
import { KelpError } from '../../src/model/errors.ts';

export const CASES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u'] as const;
export type CaseName = (typeof CASES)[number];
/** Those that run on several brokers. */
const FLEET_CASES: readonly CaseName[] = ['h', 'i', 'j', 'k', 'l', 'm'];

const SECONDS_DEFAULT = 6;
const SECONDS_MAX = 600;
/** Of a function; two cores can't run more at once. */
const INSTANCES_DEFAULT = 200;
const INSTANCES_MIN = 8;
const INSTANCES_MAX = 200;

export const USAGE = `npm run bench -- [--only a,b] [--seconds N] [--instances N] [--out FILE]

Measures Kelp beside the raw speed of its own SeaweedFS and table (infra/bench/README.md says what each case is).

  --only CASES   some of ${CASES.join(',')} (all); fleet: ${FLEET_CASES.join(',')}
  --seconds N    how long each load runs, 1 to ${SECONDS_MAX} (${SECONDS_DEFAULT})
  --instances N  of the function in (n), 8 to ${INSTANCES_MAX} (${INSTANCES_DEFAULT})
  --out FILE     JSON lines go there; without it, to standard output before the table`;

export type BenchOptions = {
  readonly cases: readonly CaseName[];
  readonly seconds: number;
  /** Of the function that is flooded. */
  readonly instances: number;
  readonly out?: string;
};

/** Undefined where help was asked for. Error `invalid`/`invalid-option`, in one line. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { help, only, seconds = String(SECONDS_DEFAULT), instances = String(INSTANCES_DEFAULT), out } = parseNames(args);
  if (help === true) return undefined;
  const chosen = only === undefined ? CASES : parseCases(only);
  return {
    cases: chosen,
    seconds: parseNumber('--seconds', seconds, { min: 1, max: SECONDS_MAX }),
    instances: parseNumber('--instances', instances, { min: INSTANCES_MIN, max: INSTANCES_MAX }),
    ...(out === undefined ? {} : { out }),
  };
}

type Names = {
  readonly help?: boolean;
  readonly only?: string;
  readonly seconds?: string;
  readonly instances?: string;
  readonly out?: string;
};

function parseNames(args: readonly string[]): Names {
  const value = { type: 'string' } as const;
  try {
    const options = { help: { type: 'boolean', short: 'h' }, only: value, seconds: value, instances: value, out: value } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (cause) {
    // Its messages go on with advice on how to escape a dash.
    const [line = 'not an option'] = (cause as Error).message.split('. ');
    throw invalidOption(line, cause);
  }
}

/** In the order in which they run, whatever the order in which they were named. */
function parseCases(text: string): CaseName[] {
  const names = text.split(',').flatMap((name): readonly string[] => (name === 'fleet' ? FLEET_CASES : [name]));
  const unknown = names.find((name) => !(CASES as readonly string[]).includes(name));
  if (unknown === undefined) return CASES.filter((name) => names.includes(name));
  throw invalidOption(`--only takes cases of ${CASES.join(',')}, but not "${unknown}"`);
}

function parseNumber(option: string, text: string, { min, max }: { readonly min: number; readonly max: number }): number {
  const value = Number(text);
  if (/^\d{1,3}$/.test(text) && value >= min && value <= max) return value;
  throw invalidOption(`${option} must be a whole number from ${min} to ${max}, but is "${text}"`);
}

function invalidOption(message: string, cause?: unknown): KelpError {
  return new KelpError('invalid', 'invalid-option', message, { cause });
}
