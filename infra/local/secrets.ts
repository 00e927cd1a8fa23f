import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KelpError } from '../../src/model/errors.ts';

const SECRET_BYTES = 32;
const SECRET_SHAPE = /^[\w-]{43}$/;

/** A secret that was made on first use and stays in the data folder, readable by its owner only. */
export function keptSecret(dir: string, name: string): string {
  const file = join(dir, name);
  if (!existsSync(file)) {
    const temporary = `${file}.tmp`;
    writeFileSync(temporary, randomBytes(SECRET_BYTES).toString('base64url'), { mode: 0o600 });
    renameSync(temporary, file); // a start that is killed here leaves the whole secret or none
  }
  chmodSync(file, 0o600);
  const secret = readFileSync(file, 'utf8').trim();
  if (SECRET_SHAPE.test(secret)) return secret;
  throw new KelpError('corrupt', 'secret-damaged', `${file} does not hold a secret: remove it, and a new one is made`);
}
