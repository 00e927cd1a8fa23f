import { KelpError } from '../../model/errors.ts';
import type { Change, Clause, Condition, Item, Path, Update, Value, WriteResult } from '../../ports/metadata-table.ts';
import { equal, isMap, member, order } from './compare.ts';

// The meaning of conditions and updates, as pure functions. The memory table and the model checker run on them: nothing is
// mutated, and whatever an update does not touch is shared between the old item and the new one.

const NO_ATTRIBUTES: Item = {};

/** Whether the condition holds on the item; an absent item has no attributes. */
export function holds(item: Item | undefined, condition: Condition): boolean {
  for (const clause of condition) {
    if (!clauseHolds(item ?? NO_ATTRIBUTES, clause)) return false;
  }
  return true;
}

/** What one update does to an item. `pk` and `sk` of an item that it makes are added by the table. */
export function applyUpdate(item: Item | undefined, update: Update): WriteResult {
  checkPaths(update.changes);
  if (!holds(item, update.condition)) return { applied: false, item };
  const old = item ?? NO_ATTRIBUTES;
  let next: Value = old;
  const removed: Path[] = [];
  for (const change of update.changes) {
    if (change.op === 'remove') removed.push(change.path);
    else next = write(next, { path: change.path, value: newValue(old, change) }, 0);
  }
  for (const path of inRemovalOrder(removed)) next = erase(next, path, 0);
  return { applied: true, item: next as Item };
}

/** The value at a path, or undefined where any step of it is missing or of another type. */
export function valueAt(item: Item, path: Path): Value | undefined {
  let here: Value | undefined = item;
  for (const step of path) {
    if (typeof step === 'string') here = isMap(here) ? member(here, step) : undefined;
    else here = Array.isArray(here) ? (here as readonly Value[])[step] : undefined;
    if (here === undefined) return undefined;
  }
  return here;
}

function clauseHolds(item: Item, clause: Clause): boolean {
  if (clause.op === 'or') return clause.any.some((condition) => holds(item, condition));
  const value = valueAt(item, clause.path);
  if (!('value' in clause)) return (value === undefined) === (clause.op === 'missing');
  if (value === undefined) return false;
  if (clause.op === '=') return equal(value, clause.value);
  if (clause.op === 'size<') return memberCount(value) < clause.value;
  const difference = order(value, clause.value);
  return difference !== undefined && ordered(clause.op, difference);
}

function ordered(op: '<' | '<=' | '>' | '>=', difference: number): boolean {
  if (op === '<') return difference < 0;
  if (op === '<=') return difference <= 0;
  return op === '>' ? difference > 0 : difference >= 0;
}

/** NaN, of which no comparison holds, for what has no members. */
function memberCount(value: Value): number {
  if (Array.isArray(value)) return value.length;
  return isMap(value) ? Object.keys(value).length : Number.NaN;
}

function newValue(old: Item, change: Exclude<Change, { readonly op: 'remove' }>): Value {
  if (change.op === 'set') return change.value;
  const source = valueAt(old, change.op === 'copy' ? change.from : change.path);
  if (source === undefined) throw refused(`nothing at ${change.path.join('.')} to ${change.op}`);
  if (change.op === 'copy') return source;
  if (typeof source !== 'number') throw refused(`${change.path.join('.')} is not a number`);
  return source + change.value;
}

/** The container with the value at the rest of the path: copies only what lies on the path. */
function write(container: Value | undefined, target: { readonly path: Path; readonly value: Value }, depth: number): Value {
  const { path, value } = target;
  const step = path[depth] as string | number;
  const last = depth === path.length - 1;
  if (typeof step === 'string') {
    if (!isMap(container)) throw refused(`no map that holds ${path.slice(0, depth + 1).join('.')}`);
    return { ...container, [step]: last ? value : write(member(container, step), target, depth + 1) };
  }
  if (!Array.isArray(container)) throw refused(`no list that holds ${path.slice(0, depth + 1).join('.')}`);
  const copy = (container as readonly Value[]).slice();
  // Beyond the end a value is appended, without a hole, as the real table does.
  copy[Math.min(step, copy.length)] = last ? value : write(copy[step], target, depth + 1);
  return copy;
}

function erase(container: Value | undefined, path: Path, depth: number): Value {
  const step = path[depth] as string | number;
  const last = depth === path.length - 1;
  if (typeof step === 'string') {
    if (!isMap(container)) throw refused(`no map that holds ${path.slice(0, depth + 1).join('.')}`);
    if (!last) return { ...container, [step]: erase(member(container, step), path, depth + 1) };
    if (!Object.hasOwn(container, step)) return container;
    const { [step]: _removed, ...rest } = container;
    return rest;
  }
  if (!Array.isArray(container)) throw refused(`no list that holds ${path.slice(0, depth + 1).join('.')}`);
  const list = container as readonly Value[];
  if (!last) return list.with(step, erase(list[step], path, depth + 1));
  return step < list.length ? list.toSpliced(step, 1) : list;
}

/** Indexes name members of the list as it was: inner paths go first, then the higher index, so that none has moved. */
function inRemovalOrder(paths: readonly Path[]): readonly Path[] {
  if (paths.length < 2) return paths;
  return paths.toSorted((left, right) => right.length - left.length || lastIndex(right) - lastIndex(left));
}

function lastIndex(path: Path): number {
  const step = path.at(-1);
  return typeof step === 'number' ? step : 0;
}

function checkPaths(changes: readonly Change[]): void {
  for (const [index, { path }] of changes.entries()) {
    if (path.length === 0 || path[0] === 'pk' || path[0] === 'sk') throw refused('an update may not touch the key');
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
