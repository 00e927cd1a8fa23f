import { KelpError } from '../../model/errors.ts';
import type { Change, Path } from '../../ports/metadata-table.ts';

/** Refuses changes whose outcome the port leaves open; implementations of the API differ on some of them. */
export function checkPaths(changes: readonly Change[]): void {
  for (const [index, { op, path }] of changes.entries()) {
    if (path.length === 0 || path[0] === 'pk' || path[0] === 'sk') throw refused('an update may not touch the key');
    if (op === 'remove' && typeof path.at(-1) === 'number') throw refused('members of a list are not removed');
    for (let other = 0; other < index; other++) {
      if (overlap(path, (changes[other] as Change).path)) throw refused(`two changes of ${path.join('.')}`);
    }
  }
}

/** Whether one path is the other or a prefix of it. */
function overlap(left: Path, right: Path): boolean {
  const length = Math.min(left.length, right.length);
  for (let depth = 0; depth < length; depth++) {
    if (left[depth] !== right[depth]) return false;
  }
  return true;
}

function refused(message: string): KelpError {
  return new KelpError('invalid', 'table-refused', message);
}
