import { parseArgs } from 'node:util';
import { KelpError } from '../../src/model/errors.ts';
import { SEGMENTS_AT_CREATION_MAX } from '../../src/model/limits.ts';
import { FLIGHTS } from './flights.ts';

const ROWS_DEFAULT = 200_000;
const SEGMENTS_DEFAULT = 4;

export const USAGE = `npm run demo -- [--rows N] [--segments N] [--url URL [--keep]]

Publishes flights keyed by their origin, reads them back and checks that nothing is lost, doubled or out of order.

  --rows N       how many flights, 1 to ${FLIGHTS} (${ROWS_DEFAULT})
  --segments N   segments of the topic, 1 to ${SEGMENTS_AT_CREATION_MAX} (${SEGMENTS_DEFAULT})
  --url URL      a Kelp that runs already, with its token in KELP_ROOT_TOKEN; without it, all is started in a temporary folder
  --keep         the topic stays`;

export type DemoOptions = {
  readonly rows: number;
  readonly segments: number;
  /** Absent: everything is started here, and goes with it. `keep`: the topic stays. */
  readonly endpoint?: { readonly url: string; readonly token: string; readonly keep: boolean };
};

/** Undefined where help was asked for. Error `invalid`/`invalid-option`, in one line. */
export function parseOptions(args: readonly string[], environment: Readonly<Record<string, string | undefined>>): DemoOptions | undefined {
  const { help, rows, segments, url, keep = false } = parseNames(args);
  if (help === true) return undefined;
  const options = {
    rows: integerOption('--rows', rows ?? String(ROWS_DEFAULT), FLIGHTS),
    segments: integerOption('--segments', segments ?? String(SEGMENTS_DEFAULT), SEGMENTS_AT_CREATION_MAX),
  };
  if (url === undefined) {
    if (keep) throw invalidOption('--keep needs --url: what is started here goes with all its topics');
    return options;
  }
  const token = environment['KELP_ROOT_TOKEN'];
  if (token === undefined || token === '') throw invalidOption('--url needs the root token in KELP_ROOT_TOKEN');
  return { ...options, endpoint: { url: baseUrl(url), token, keep } };
}

type Names = {
  readonly help?: boolean;
  readonly rows?: string;
  readonly segments?: string;
  readonly url?: string;
  readonly keep?: boolean;
};

function parseNames(args: readonly string[]): Names {
  const value = { type: 'string' } as const;
  try {
    const options = { help: { type: 'boolean', short: 'h' }, rows: value, segments: value, url: value, keep: { type: 'boolean' } } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (cause) {
    // Its messages go on with advice on how to escape a dash.
    const [line = 'not an option'] = (cause as Error).message.split('. ');
    throw invalidOption(line, cause);
  }
}

function integerOption(name: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= 1 && value <= max) return value;
  throw invalidOption(`${name} must be a whole number from 1 to ${max}, but is "${text}"`);
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBase = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '' && url.username === '';
  if (!isBase) throw invalidOption(`--url must be a URL such as http://127.0.0.1:7333, but is "${text}"`);
  return url.origin;
}

function invalidOption(message: string, cause?: unknown): KelpError {
  return new KelpError('invalid', 'invalid-option', message, { cause });
}
