import { parseArgs } from 'node:util';
import { KelpError } from '../../src/model/errors.ts';

/** Of one machine; each takes some hundred MiB. */
const BROKERS_MAX = 16;

export const USAGE = `npm start [-- --brokers N | --join | --functions]

Starts Kelp on this machine: SeaweedFS and a table, unless the environment names others, and a broker.

  --brokers N   so many brokers, 1 to ${BROKERS_MAX} (1), each a process on a port of its own, behind one address
  --join        one more broker for a Kelp that runs: everything comes by environment, nothing else is started
  --functions   the packaged functions in place of brokers, with HTTP and schedules (npm run offline)
  --help        this text`;

export type StartCommand = { readonly kind: 'start'; readonly brokers: number } | { readonly kind: 'join' | 'functions' | 'help' };

/** Error `invalid`/`invalid-option`, in one line. */
export function parseOptions(args: readonly string[]): StartCommand {
  const { help, join, functions, brokers } = parseNames(args);
  if (help === true) return { kind: 'help' };
  if (functions === true && (join === true || brokers !== undefined)) throw invalidOption('--functions starts no broker: it goes alone');
  if (functions === true) return { kind: 'functions' };
  if (join !== true) return { kind: 'start', brokers: brokers === undefined ? 1 : countOf(brokers) };
  if (brokers !== undefined) throw invalidOption('--join starts one broker: it goes without --brokers');
  return { kind: 'join' };
}

type Names = { readonly help?: boolean; readonly join?: boolean; readonly functions?: boolean; readonly brokers?: string };

function parseNames(args: readonly string[]): Names {
  try {
    const flag = { type: 'boolean' } as const;
    const options = { help: { ...flag, short: 'h' }, join: flag, functions: flag, brokers: { type: 'string' } } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (cause) {
    // Its messages go on with advice on how to escape a dash.
    const [line = 'not an option'] = (cause as Error).message.split('. ');
    throw invalidOption(`${line.split('\n')[0]} (--help tells what there is)`, cause);
  }
}

function countOf(text: string): number {
  const value = Number(text);
  if (/^\d{1,3}$/.test(text) && value >= 1 && value <= BROKERS_MAX) return value;
  throw invalidOption(`--brokers must be a whole number from 1 to ${BROKERS_MAX}, but is "${text}"`);
}

function invalidOption(message: string, cause?: unknown): KelpError {
  return new KelpError('invalid', 'invalid-option', message, { cause });
}
