import { KelpError } from '../../model/errors.ts';
import { EXPRESSION_BYTES_MAX, EXPRESSION_OPERATORS_MAX } from '../../model/limits.ts';
import type { Change, Clause, Condition, Path, Value } from '../../ports/metadata-table.ts';
import { checkPaths } from './check-paths.ts';

/** A request's expressions. What is absent must be left out of the request: the API refuses empty ones. */
export type Expressions = {
  readonly condition?: string;
  readonly update?: string;
  /** Placeholder to attribute name. Names are never written into an expression: many are reserved words. */
  readonly names?: Record<string, string>;
  /** Placeholder to value. */
  readonly values?: Record<string, Value>;
};

type Placeholders = { readonly names: Map<string, string>; readonly values: Map<string, Value> };

/** An expression's text, and how many operators and functions it has. `loose`: an OR, which needs parentheses within an AND. */
type Term = { readonly text: string; readonly operators: number; readonly loose?: boolean };

/** Compiles a condition and changes. Error `invalid`/`table-refused` beyond the API's limits, which emulators don't enforce. */
export function compileExpressions(condition: Condition, changes: readonly Change[] = []): Expressions {
  checkPaths(changes);
  const placeholders: Placeholders = { names: new Map(), values: new Map() };
  const conditionText = checked('condition', conjunction(condition, placeholders));
  const updateText = checked('update', updateTerm(changes, placeholders));
  const { names, values } = placeholders;
  return {
    ...(conditionText === undefined ? {} : { condition: conditionText }),
    ...(updateText === undefined ? {} : { update: updateText }),
    ...(names.size === 0 ? {} : { names: Object.fromEntries(Array.from(names, ([name, placeholder]) => [placeholder, name])) }),
    ...(values.size === 0 ? {} : { values: Object.fromEntries(values) }),
  };
}

function checked(what: string, term: Term | undefined): string | undefined {
  if (term === undefined) return undefined;
  // Only placeholders and operators: as many bytes as characters.
  if (term.text.length > EXPRESSION_BYTES_MAX)
    throw refused(`the ${what} has ${term.text.length} bytes, more than ${EXPRESSION_BYTES_MAX}`);
  if (term.operators > EXPRESSION_OPERATORS_MAX)
    throw refused(`the ${what} has ${term.operators} operators, more than ${EXPRESSION_OPERATORS_MAX}`);
  return term.text;
}

/** Undefined: holds always. */
function conjunction(condition: Condition, placeholders: Placeholders): Term | undefined {
  const terms = condition.filter((clause) => !alwaysHolds(clause)).map((clause) => clauseTerm(clause, placeholders));
  const [only] = terms;
  if (only === undefined || terms.length === 1) return only;
  return join(
    terms.map((term) => (term.loose === true ? { ...term, text: `(${term.text})` } : term)),
    ' AND ',
  );
}

/** Such a clause has no expression, and is left out before it takes placeholders: the API refuses unused ones. */
function alwaysHolds(clause: Clause): boolean {
  return clause.op === 'or' && clause.any.some((condition) => condition.every(alwaysHolds));
}

function clauseTerm(clause: Clause, placeholders: Placeholders): Term {
  if (clause.op === 'or') return disjunction(clause.any, placeholders);
  const path = pathText(clause.path, placeholders);
  if (clause.op === 'exists') return { text: `attribute_exists(${path})`, operators: 1 };
  if (clause.op === 'missing') return { text: `attribute_not_exists(${path})`, operators: 1 };
  if (!('value' in clause)) throw refused(`no clause ${String(clause.op)}`);
  if (clause.op === 'size<') return { text: `size(${path}) < ${valueText(clause.value, placeholders)}`, operators: 2 };
  if (clause.op !== '=') checkOrdered(clause.value);
  return { text: `${path} ${clause.op} ${valueText(clause.value, placeholders)}`, operators: 1 };
}

/** AND binds tighter than OR, so no alternative needs parentheses (doubled ones would be refused). */
function disjunction(any: readonly Condition[], placeholders: Placeholders): Term {
  const terms = any.map((condition) => conjunction(condition, placeholders)).filter((term) => term !== undefined);
  const [only] = terms;
  if (only === undefined) return never(placeholders);
  return terms.length === 1 ? only : { ...join(terms, ' OR '), loose: true };
}

/** No alternative, so nothing holds; the API has no constant for that. */
function never(placeholders: Placeholders): Term {
  const path = pathText(['pk'], placeholders);
  return { text: `attribute_exists(${path}) AND attribute_not_exists(${path})`, operators: 3 };
}

function join(terms: readonly Term[], separator: string): Term {
  const operators = terms.reduce((sum, term) => sum + term.operators, terms.length - 1);
  return { text: terms.map((term) => term.text).join(separator), operators };
}

function updateTerm(changes: readonly Change[], placeholders: Placeholders): Term | undefined {
  const sets: string[] = [];
  const removes: string[] = [];
  let operators = 0;
  for (const change of changes) {
    const path = pathText(change.path, placeholders);
    if (change.op === 'remove') removes.push(path);
    else sets.push(`${path}=${rightSide(change, path, placeholders)}`);
    if (change.op === 'add') operators++;
  }
  const clauses = [sets.length === 0 ? [] : [`SET ${sets.join(',')}`], removes.length === 0 ? [] : [`REMOVE ${removes.join(',')}`]].flat();
  return clauses.length === 0 ? undefined : { text: clauses.join(' '), operators };
}

function rightSide(change: Exclude<Change, { readonly op: 'remove' }>, path: string, placeholders: Placeholders): string {
  if (change.op === 'copy') return pathText(change.from, placeholders);
  const value = valueText(change.value, placeholders);
  return change.op === 'add' ? `${path}+${value}` : value;
}

function pathText(path: Path, { names }: Placeholders): string {
  if (typeof path[0] !== 'string') throw refused('a path begins with the name of an attribute');
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') {
      text += `[${step}]`;
      continue;
    }
    const placeholder = names.get(step) ?? `#${names.size.toString(36)}`;
    names.set(step, placeholder);
    text += text === '' ? placeholder : `.${placeholder}`;
  }
  return text;
}

function valueText(value: Value, { values }: Placeholders): string {
  const placeholder = `:${values.size.toString(36)}`;
  values.set(placeholder, value);
  return placeholder;
}

function checkOrdered(value: Value): void {
  if (typeof value === 'string' || typeof value === 'number' || value instanceof Uint8Array) return;
  throw refused('only text, numbers and bytes have an order');
}

function refused(message: string): KelpError {
  return new KelpError('invalid', 'table-refused', message);
}
