/** What an answer says of a segment as it is at that moment; what it doesn't say is left out. */
export type End = { readonly tail?: number; readonly sealed?: boolean };

/** A publish is all or nothing. `refused`: surely not stored. `unknown`: stored at any time after the invocation, or never. */
export type PublishOutcome =
  | { readonly kind: 'stored'; readonly offset: number }
  | { readonly kind: 'refused'; readonly end?: End }
  | { readonly kind: 'unknown' };

export type Call =
  | { readonly kind: 'publish'; readonly values: readonly string[]; readonly matchTail?: number; readonly outcome: PublishOutcome }
  /** Some of what lies at `from` and behind it, not always all of it; none only at the tail. */
  | { readonly kind: 'read'; readonly from: number; readonly values: readonly string[]; readonly end?: End }
  | { readonly kind: 'tail'; readonly end: End }
  /** `unknown`: at any time after the invocation, or never. */
  | { readonly kind: 'seal'; readonly outcome: 'done' | 'unknown' };

/** `invokedAt`, `completedAt`: of a counter that rises with each event; that of an unknown outcome bounds nothing. */
export type Operation = Call & { readonly client: string; readonly invokedAt: number; readonly completedAt: number };

/** `order`: one that explains every answer; else the longest beginning that was found, and what fits nowhere behind it. */
export type Linearization =
  | { readonly isLinearizable: true; readonly order: readonly Operation[] }
  | { readonly isLinearizable: false; readonly order: readonly Operation[]; readonly left: readonly Operation[] };

type State = { readonly log: readonly string[]; readonly sealed: boolean };

/** The search grows with the factorial of what overlaps: longer histories are for `checkHistory`, which takes any length. */
const OPERATIONS_MAX = 20;
/** Some seconds. Whoever meets it has learned nothing, so it is an error and no answer. */
const STATES_MAX = 500_000;

/**
 * Whether the operations on one segment can be put in an order in which each takes effect at one moment between its
 * invocation and its completion, beginning with an empty open segment, and each answer is what a single log would give.
 * Depth first, remembering which sets of operations led to which state (Wing and Gong, with Lowe's memory). Throws where the
 * history is too long, or the search is.
 */
export function linearize(operations: readonly Operation[]): Linearization {
  if (operations.length > OPERATIONS_MAX) throw new Error(`${operations.length} operations, at most ${OPERATIONS_MAX} are searched`);
  // The answered ones first: guesses only where nothing else goes on.
  const ranked = operations
    .filter(saysAnything)
    .toSorted((a, b) => Number(isUnknown(a)) - Number(isUnknown(b)) || a.invokedAt - b.invokedAt);
  const seen = new Set<string>();
  let longest: readonly Operation[] = [];

  function search(state: State, done: ReadonlySet<Operation>): readonly Operation[] | undefined {
    const left = ranked.filter((operation) => !done.has(operation));
    const answered = left.filter((operation) => !isUnknown(operation));
    if (done.size > longest.length) longest = [...done];
    if (answered.length === 0) return [...done];
    // What was invoked after another had completed comes behind it.
    const firstCompletion = Math.min(...answered.map(({ completedAt }) => completedAt));
    for (const operation of left.filter(({ invokedAt }) => invokedAt < firstCompletion)) {
      const next = apply(state, operation);
      const behind = new Set([...done, operation]);
      if (next === undefined || !isNew(next, behind)) continue;
      const order = search(next, behind);
      if (order !== undefined) return order;
    }
    return undefined;
  }

  function isNew(state: State, done: ReadonlySet<Operation>): boolean {
    const key = JSON.stringify([state, ranked.map((operation) => Number(done.has(operation))).join('')]);
    if (seen.has(key)) return false;
    if (seen.size >= STATES_MAX) throw new Error(`more than ${STATES_MAX} states`);
    seen.add(key);
    return true;
  }

  const order = search({ log: [], sealed: false }, new Set());
  if (order !== undefined) return { isLinearizable: true, order };
  return { isLinearizable: false, order: longest, left: ranked.filter((operation) => !longest.includes(operation)) };
}

function isUnknown(operation: Operation): boolean {
  if (operation.kind === 'seal') return operation.outcome === 'unknown';
  return operation.kind === 'publish' && operation.outcome.kind === 'unknown';
}

/** A refusal that says nothing of the segment holds at any moment: all that it promises is that nobody reads its values. */
const saysAnything = (operation: Operation): boolean =>
  operation.kind !== 'publish' || operation.outcome.kind !== 'refused' || operation.outcome.end !== undefined;

/** The state behind the operation; undefined where a single log would not have answered so. */
function apply(state: State, operation: Operation): State | undefined {
  switch (operation.kind) {
    case 'publish':
      return publish(state, operation);
    case 'read':
      return shows(state, operation.from, operation.values) && fits(state, operation.end) ? state : undefined;
    case 'tail':
      return fits(state, operation.end) ? state : undefined;
    case 'seal':
      return { ...state, sealed: true };
  }
}

function publish(state: State, { values, matchTail, outcome }: Extract<Operation, { kind: 'publish' }>): State | undefined {
  const tail = state.log.length;
  if (outcome.kind === 'refused') return fits(state, outcome.end) ? state : undefined;
  if (state.sealed || (matchTail !== undefined && matchTail !== tail)) return undefined;
  if (outcome.kind === 'stored' && outcome.offset !== tail) return undefined;
  return { ...state, log: [...state.log, ...values] };
}

function shows({ log }: State, from: number, values: readonly string[]): boolean {
  if (values.length === 0) return from === log.length;
  return values.every((value, n) => log[from + n] === value);
}

const fits = ({ log, sealed }: State, end: End = {}): boolean =>
  (end.tail === undefined || end.tail === log.length) && (end.sealed === undefined || end.sealed === sealed);
