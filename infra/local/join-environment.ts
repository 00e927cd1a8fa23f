import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { parseEnv } from 'node:util';
import { KelpError } from '../../src/model/errors.ts';

export const DATA_DEFAULT = '.kelp';
const JOIN_FILE = 'join.env';

/** What a broker needs to join, and a start on this machine knows. */
const REQUIRED = [
  'KELP_S3_ENDPOINT',
  'KELP_S3_ACCESS_KEY',
  'KELP_S3_SECRET_KEY',
  'KELP_TABLE_ENDPOINT',
  'KELP_ROOT_TOKEN',
  'KELP_SECRET',
  'KELP_INTERNAL_SECRET',
];
const SHARED = [
  ...REQUIRED,
  'KELP_S3_PUBLIC_ENDPOINT',
  'KELP_S3_BUCKET',
  'KELP_S3_REGION',
  'KELP_TABLE',
  'KELP_REQUEST_BYTES_MAX',
  'KELP_REBALANCE_MS',
  'KELP_SWEEP_MS',
  'KELP_ARCHIVE_MS',
  'KELP_ARCHIVE_AGE_MS',
  'KELP_ARCHIVE_BYTES',
  'KELP_GARBAGE_AGE_MS',
];
const TABLE_CREDENTIALS = ['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];

type Environment = Readonly<Record<string, string | undefined>>;

/** Error `invalid`/`invalid-configuration`, one line for each variable that is missing. */
export function checkJoinEnvironment(environment: Environment): void {
  const missing = REQUIRED.filter((name) => !environment[name]);
  if (missing.length === 0) return;
  const lines = missing.map((name) => `${name} is missing: a broker that joins needs it (npm start writes it to ${JOIN_FILE})`);
  throw new KelpError('invalid', 'invalid-configuration', lines.join('\n'));
}

/** Writes what a broker on this machine needs to join, for a shell to read, and for its owner only. */
export function writeJoinEnvironment(dir: string, environment: Environment): void {
  const lines = [...SHARED, ...TABLE_CREDENTIALS].flatMap((name) => {
    const value = environment[name];
    return value ? [`${name}=${quote(value)}\n`] : [];
  });
  const file = join(dir, JOIN_FILE);
  const temporary = `${file}.tmp`;
  writeFileSync(temporary, lines.join(''), { mode: 0o600 });
  chmodSync(temporary, 0o600); // it may have been there
  renameSync(temporary, file);
}

/** With stores that end now, nobody can join. */
export const removeJoinEnvironment = (dir: string): void => rmSync(join(dir, JOIN_FILE), { force: true });

/** The token of the one whose data folder this is. Error `corrupt`/`secret-damaged`. */
export function readRootToken(dir: string): string {
  const file = join(dir, JOIN_FILE);
  const token = existsSync(file) ? parseEnv(readFileSync(file, 'utf8'))['KELP_ROOT_TOKEN'] : undefined;
  if (token === undefined) throw new KelpError('corrupt', 'secret-damaged', `${file} has no root token`);
  return token;
}

/** The one line that has a broker join, in a shell in this folder. */
export function joinCommand(dataDir: string): string {
  const path = join(dataDir, JOIN_FILE);
  // Without a slash a shell looks for it elsewhere.
  const file = path.includes(sep) ? path : `./${path}`;
  return `(set -a; . ${quote(file)}; npm start -- --join)`;
}

/** The one line that restarts the brokers of this data folder: without a name it would be those of the default one. */
export function restartCommand(dataDir: string): string {
  return `${dataDir === DATA_DEFAULT ? '' : `KELP_DATA=${quote(dataDir)} `}npm run rolling-restart`;
}

function quote(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
