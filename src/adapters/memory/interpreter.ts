import { KelpError } from '../../model/errors.ts';
import type { Change, Clause, Condition, Item, Path, Update, Value, WriteResult } from '../../ports/metadata-table.ts';
import { checkPaths } from '../dynamodb/check-paths.ts';
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
  for (const change of update.changes) {
    if (change.op === 'remove') next = erase(next, change.path, 0);
    else next = write(next, { path: change.path, value: newValue(old, change) }, 0);
  }
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
  if (step > copy.length) throw refused(`a hole in the list before ${path.join('.')}`);
  copy[step] = last ? value : write(copy[step], target, depth + 1);
  return copy;
}

function erase(container: Value | undefined, path: Path, depth: number): Value {
  const step = path[depth] as string | number;
  if (typeof step === 'string') {
    if (!isMap(container)) throw refused(`no map that holds ${path.slice(0, depth + 1).join('.')}`);
    if (depth < path.length - 1) return { ...container, [step]: erase(member(container, step), path, depth + 1) };
    if (!Object.hasOwn(container, step)) return container;
    const { [step]: _removed, ...rest } = container;
    return rest;
  }
  if (!Array.isArray(container)) throw refused(`no list that holds ${path.slice(0, depth + 1).join('.')}`);
  const list = container as readonly Value[];
  return list.with(step, erase(list[step], path, depth + 1));
}

function refused(message: string): KelpError {
  return new KelpError('invalid', 'table-refused', message);
}
