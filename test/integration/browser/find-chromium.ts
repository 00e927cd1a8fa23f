import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import packageJson from '../../../package.json' with { type: 'json' };
import { CACHE_DIR } from '../../../infra/local/tools.ts';

export type Chromium = { readonly file: string; readonly env: Readonly<Record<string, string>> };

const VERSION = packageJson.devDependencies['@sparticuz/chromium'];

/**
 * `CHROMIUM_BIN`, else the one that comes with the npm packages (Linux on x64), with the libraries and fonts that a small machine
 * lacks: unpacked on first use, and kept.
 */
export async function findChromium(): Promise<Chromium> {
  const given = process.env['CHROMIUM_BIN'];
  if (given !== undefined) return { file: given, env: {} };
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('no Chromium comes for this platform (set CHROMIUM_BIN)');
  const dir = join(CACHE_DIR, `chromium-${VERSION}`);
  if (!existsSync(dir)) await unpack(dir);
  return { file: join(dir, 'chromium'), env: { LD_LIBRARY_PATH: join(dir, 'lib'), FONTCONFIG_FILE: join(dir, 'fonts.conf') } };
}

/** Whole or not at all, also where two do it at once. */
async function unpack(dir: string): Promise<void> {
  mkdirSync(dirname(dir), { recursive: true });
  const partial = mkdtempSync(`${dir}.`);
  try {
    const file = join(partial, 'chromium');
    await Promise.all([decompress('chromium.br', file), untar('al2023', partial), untar('fonts', partial)]);
    chmodSync(file, 0o755);
    const fonts = `<dir>${join(dir, 'fonts')}</dir><cachedir>${join(dir, 'font-cache')}</cachedir>`;
    writeFileSync(join(partial, 'fonts.conf'), `<?xml version="1.0"?><fontconfig>${fonts}</fontconfig>\n`);
    renameSync(partial, dir);
  } catch (error) {
    // Somebody else was faster.
    if (!existsSync(dir)) throw error;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

async function decompress(name: string, file: string): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  await pipeline(createReadStream(join(dirname(entry), '..', 'bin', name)), createBrotliDecompress(), createWriteStream(file));
}

/** From a file, since tar reads no further than the archive's end mark: what is still on its way then finds a closed pipe. */
async function untar(name: string, dir: string): Promise<void> {
  const file = join(dir, `${name}.tar`);
  await decompress(`${name}.tar.br`, file);
  const [code] = await once(spawn('tar', ['-x', '-f', file, '-C', dir], { stdio: 'inherit' }), 'close');
  if (code !== 0) throw new Error(`tar could not unpack ${name}`);
  rmSync(file);
}
