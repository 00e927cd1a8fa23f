/** What is searched: states, and what may come next in each of them. */
export type Space<State, Step> = {
  first(): Promise<State>;
  /** Every state that is one step away. Undefined: some of it has to be learnt first, then ask again. */
  successors(state: State): readonly Successor<State, Step>[] | undefined;
  learn(): Promise<void>;
  /** Equal for equal states, and for them only. */
  textOf(state: State): string;
};
/** `fault`: what was wrong with the step itself. */
export type Successor<State, Step> = { readonly state: State; readonly fault: string | undefined; readonly step: Step };

/** `fault`: its kind, a colon, and what it is about. */
export type Found<State, Step> = { readonly fault: string; readonly trace: readonly Step[]; readonly states: readonly State[] };

export type Report<State, Step> = Counts & { readonly found: Found<State, Step> | undefined };

export type Counts = {
  readonly states: number;
  readonly transitions: number;
  /** Steps of the longest of the shortest ways to a state. */
  readonly depth: number;
  readonly seconds: number;
  /** Whether every state was looked at: no fault, and the bound not reached. */
  readonly complete: boolean;
};

export type SearchOptions<State> = {
  readonly statesMax: number;
  /** What is wrong with a state, if anything. */
  readonly invariant: (state: State) => string | undefined;
  /** Kinds of fault to go by; absent: all. A rule's own fault may lie behind a shallower one. */
  readonly kinds?: readonly string[];
  /** Told now and then how far it is. */
  readonly progress?: (states: number, depth: number) => void;
};

const PROGRESS_STATES = 100_000;

/** Breadth first, so that the first fault found has a shortest trace. */
export async function search<State, Step>(space: Space<State, Step>, options: SearchOptions<State>): Promise<Report<State, Step>> {
  const startedMs = performance.now();
  const first = await space.first();
  const seen = new Set([space.textOf(first)]);
  const queue: (State | undefined)[] = [first];
  // By state number: the state before it, and which of that one's successors it is.
  const parents = [0];
  const ordinals = [0];
  let depth = 0;
  let depthEnd = 1;
  let transitions = 0;
  const report = (found?: Found<State, Step>): Report<State, Step> => ({
    states: queue.length,
    transitions,
    depth,
    seconds: (performance.now() - startedMs) / 1_000,
    complete: found === undefined && queue.length < options.statesMax,
    found,
  });
  const matters = (fault: string | undefined): fault is string =>
    fault !== undefined && (options.kinds === undefined || options.kinds.includes(kindOf(fault)));
  const wrong = options.invariant(first);
  if (matters(wrong)) return report({ fault: wrong, trace: [], states: [first] });

  /** Whether the state is new; then it waits for its turn. */
  const enqueue = (state: State, parent: number, ordinal: number): boolean => {
    const before = seen.size;
    if (seen.add(space.textOf(state)).size === before) return false;
    queue.push(state);
    parents.push(parent);
    ordinals.push(ordinal);
    if (queue.length % PROGRESS_STATES === 0) options.progress?.(queue.length, depth);
    return true;
  };

  for (let index = 0; index < queue.length && queue.length < options.statesMax; index += 1) {
    if (index === depthEnd) {
      depth += 1;
      depthEnd = queue.length;
    }
    const state = queue[index] as State;
    // Only the frontier is kept whole; a trace is walked again from the first state.
    queue[index] = undefined;
    for (const [ordinal, successor] of (await successorsOf(space, state)).entries()) {
      transitions += 1;
      const isNew = enqueue(successor.state, index, ordinal);
      const own = matters(successor.fault) ? successor.fault : undefined;
      const fault = own ?? (isNew ? options.invariant(successor.state) : undefined);
      if (matters(fault)) return report(await retrace(space, fault, [...pathTo(index, parents, ordinals), ordinal]));
    }
  }
  return report();
}

const kindOf = (fault: string): string => fault.split(':')[0] ?? fault;

async function successorsOf<State, Step>(space: Space<State, Step>, state: State): Promise<readonly Successor<State, Step>[]> {
  for (;;) {
    const found = space.successors(state);
    if (found !== undefined) return found;
    await space.learn();
  }
}

function pathTo(index: number, parents: readonly number[], ordinals: readonly number[]): number[] {
  const path: number[] = [];
  for (let at = index; at > 0; at = parents[at] as number) path.push(ordinals[at] as number);
  return path.toReversed();
}

async function retrace<State, Step>(space: Space<State, Step>, fault: string, path: readonly number[]): Promise<Found<State, Step>> {
  const states: State[] = [await space.first()];
  const trace: Step[] = [];
  for (const ordinal of path) {
    const successor = (await successorsOf(space, states.at(-1) as State))[ordinal] as Successor<State, Step>;
    states.push(successor.state);
    trace.push(successor.step);
  }
  return { fault, trace, states };
}
