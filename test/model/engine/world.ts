import type { Item, Key } from '../../../src/ports/metadata-table.ts';
import { coded } from './intern.ts';
import { createLocals } from './locals.ts';
import type { Local, Pending, Process, ProcessState } from './process.ts';
import type { Successor as SuccessorOf } from './search.ts';
import { createSharedTable, type Items, NO_ITEM, type Request, withItem, type WriteCheck } from './shared-table.ts';

/** Everything there is at one moment. Numbers stand for items, locals and requests. */
export type State = {
  readonly items: Items;
  /** Local by process. */
  readonly locals: readonly number[];
  /** Writes that may still land, in order of their numbers. */
  readonly flights: readonly number[];
  /** How often a write may still stay unanswered, a copy of one be left in flight, a request surely fail, a caller stop waiting. */
  readonly unansweredLeft: number;
  readonly lateLeft: number;
  readonly failuresLeft: number;
  readonly abortsLeft: number;
};

export type Budgets = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

export type Scope = {
  readonly items: readonly (readonly [Key, Item])[];
  readonly processes: readonly Process[];
  readonly budgets: Budgets;
  /** Messages that each upload has for a segment, in the order of the group's members. Uploads of placed slices name them. */
  readonly objects?: Readonly<Record<string, readonly Content[]>>;
  /** Messages of one sender, each sent after the one before was acked, or of one line: read in this order, if they are stored. */
  readonly orders?: readonly (readonly string[])[];
  /** Whether the later ones of an order are only there if all before them are. */
  readonly withoutGaps?: boolean;
  /** Messages that a reader of new ones must not be given. */
  readonly old?: readonly string[];
  /** Anything else that must hold, by the items alone. */
  readonly check?: (itemsOf: (pkPrefix: string) => readonly Item[]) => string | undefined;
};
export type Content = { readonly message: string; readonly count: number };

type Successor = SuccessorOf<State, Step>;
export type Step = { readonly process: number | 'late'; readonly request: number; readonly outcome: Outcome };
export type Outcome =
  | 'answered'
  | 'refused'
  | 'applied'
  | 'applied, unanswered'
  | 'unanswered'
  | 'applied, aborted'
  | 'aborted'
  | 'failed'
  | 'lands late';

export type World = ReturnType<typeof createWorld>;

/** One pending request of one process in one state. */
type Turn = { readonly state: State; readonly process: number; readonly at: number; readonly pending: Pending };
/** How a write goes: `copies` of it stay in flight. */
type Way = { readonly outcome: Outcome; readonly applied: boolean; readonly copies: number };

const UNKNOWN = -1;

export function createWorld(scope: Scope, check: WriteCheck) {
  const shared = createSharedTable(check);
  const { processes } = scope;
  const locals = createLocals(shared, processes);

  const stateOf =
    (state: State) =>
    (name: string): ProcessState => {
      const index = processes.findIndex((process) => process.name === name);
      return locals.local(state.locals[index] as number).state;
    };
  const mayStep = (state: State, local: Local): boolean => {
    const { mayBegin } = processes[local.process] as Process;
    return mayBegin === undefined || local.phase > 0 || local.history.length > 0 || mayBegin(stateOf(state));
  };

  /** The request isn't done, and its process knows it; or the process stops waiting. */
  function fail(turn: Turn, into: Successor[]): void {
    const { state, process, at, pending } = turn;
    if (processes[process]?.mayFail !== true) return;
    const step = { process, request: pending.request };
    if (state.failuresLeft > 0) {
      const failed = { ...moved(turn, locals.after(at, pending.index, 'failed', 0)), failuresLeft: state.failuresLeft - 1 };
      into.push({ state: failed, fault: undefined, step: { ...step, outcome: 'failed' } });
    }
    if (state.abortsLeft > 0) {
      const aborted = { ...moved(turn, locals.after(at, pending.index, 'aborted', 0)), abortsLeft: state.abortsLeft - 1 };
      into.push({ state: aborted, fault: undefined, step: { ...step, outcome: 'aborted' } });
    }
  }

  function read(turn: Turn, request: Request, into: Successor[]): void {
    const { state, process, at, pending } = turn;
    let next: number | undefined;
    if (request.op === 'query') {
      const { ids, more } = shared.select(request.query, state.items);
      next = locals.after(at, pending.index, 'items', locals.listId(ids, more));
    } else {
      next = locals.after(at, pending.index, 'item', state.items[shared.slotOf(request.key)] ?? NO_ITEM);
    }
    into.push({ state: moved(turn, next), fault: undefined, step: { process, request: pending.request, outcome: 'answered' } });
    fail(turn, into);
  }

  function write(turn: Turn, slot: number, into: Successor[]): void {
    const { state, process, at, pending } = turn;
    const before = state.items[slot] ?? NO_ITEM;
    const effect = shared.effect(pending.request, before);
    const push = (way: Way, next: number | undefined): void => {
      const applied = way.applied && effect !== undefined;
      const after: State = {
        ...moved(turn, next),
        items: applied && effect.item !== before ? withItem(state.items, slot, effect.item) : state.items,
        flights: withFlights(state.flights, pending.request, way.copies),
        unansweredLeft: state.unansweredLeft - (way.outcome.endsWith('unanswered') ? 1 : 0),
        lateLeft: state.lateLeft - way.copies,
        abortsLeft: state.abortsLeft - (way.outcome.endsWith('aborted') ? 1 : 0),
      };
      into.push({
        state: after,
        fault: applied ? effect.fault : undefined,
        step: { process, request: pending.request, outcome: way.outcome },
      });
    };
    const outcome = effect === undefined ? 'refused' : 'applied';
    const next = locals.after(at, pending.index, outcome, effect === undefined ? before : effect.item);
    push({ outcome, applied: true, copies: 0 }, next);
    // The network may keep a copy of what it has delivered; of a refused write it keeps none (nothing repeats requests).
    if (effect !== undefined && state.lateLeft > 0) push({ outcome, applied: true, copies: 1 }, next);
    const mayAbort = processes[process]?.mayFail === true && state.abortsLeft > 0;
    for (const way of waysUnanswered(state, { applies: effect !== undefined, mayAbort })) {
      push(way, locals.after(at, pending.index, way.outcome.endsWith('aborted') ? 'aborted' : 'lost', 0));
    }
    fail(turn, into);
  }

  function land(state: State, into: Successor[]): void {
    for (const [index, request] of state.flights.entries()) {
      if (index > 0 && state.flights[index - 1] === request) continue;
      const slot = shared.slotOfRequest(request);
      const before = state.items[slot] ?? NO_ITEM;
      const effect = shared.effect(request, before);
      // Refused, it changes nothing: the same as not having landed yet.
      if (effect === undefined || effect.item === before) continue;
      const landed = { ...state, items: withItem(state.items, slot, effect.item), flights: state.flights.toSpliced(index, 1) };
      into.push({ state: landed, fault: effect.fault, step: { process: 'late', request, outcome: 'lands late' } });
    }
  }

  function successorsNow(state: State): Successor[] {
    const found: Successor[] = [];
    for (const [process, at] of state.locals.entries()) {
      const local = locals.local(at);
      if (local.pending.length === 0 || !mayStep(state, local)) continue;
      for (const pending of local.pending) {
        const request = shared.request(pending.request);
        const turn = { state, process, at, pending };
        if (request.op === 'get' || request.op === 'query') read(turn, request, found);
        else write(turn, shared.slotOfRequest(pending.request), found);
      }
    }
    land(state, found);
    return found;
  }

  return {
    scope,
    shared,
    locals,
    async first(): Promise<State> {
      let items: Items = [];
      for (const [key, item] of scope.items) items = withItem(items, shared.slotOf(key), shared.itemId({ ...item, ...key }));
      const started: number[] = [];
      for (const [process, { start }] of processes.entries()) started.push(await locals.start(process, start));
      const { unanswered, late, failures = 0, aborts = 0 } = scope.budgets;
      return {
        items,
        locals: started,
        flights: [],
        unansweredLeft: unanswered,
        lateLeft: late,
        failuresLeft: failures,
        abortsLeft: aborts,
      };
    },
    textOf: stateText,
    learn: locals.learn,
    successors(state: State): Successor[] | undefined {
      const found = successorsNow(state);
      return found.some((successor) => successor.state.locals.includes(UNKNOWN)) ? undefined : found;
    },
  };
}

const moved = ({ state, process }: Turn, next: number | undefined): State => ({
  ...state,
  locals: state.locals.with(process, next ?? UNKNOWN),
});

/** A write may be applied or not when its answer is lost, or its caller goes; with copies in flight it lands late, or twice. */
function waysUnanswered(state: State, { applies, mayAbort }: { readonly applies: boolean; readonly mayAbort: boolean }): Way[] {
  const copiesMax = Math.min(2, state.lateLeft);
  const lost = state.unansweredLeft > 0 ? (['applied, unanswered', 'unanswered'] as const) : [];
  const aborted = mayAbort ? (['applied, aborted', 'aborted'] as const) : [];
  return [lost, aborted].flatMap(([appliedOutcome, outcome]) => {
    if (appliedOutcome === undefined || outcome === undefined) return [];
    const applied = applies
      ? Array.from({ length: Math.max(1, copiesMax) }, (_, copies) => ({ outcome: appliedOutcome, applied: true, copies }))
      : [];
    // Not applied and without a copy: for an abort that is the plain failure above.
    const inFlight = Array.from({ length: copiesMax }, (_, index) => ({ outcome, applied: false, copies: index + 1 }));
    const never = outcome === 'unanswered' && copiesMax === 0 ? [{ outcome, applied: false, copies: 0 }] : [];
    return [...applied, ...inFlight, ...never];
  });
}

const SEPARATOR = String.fromCharCode(0xffff);

function stateText(state: State): string {
  let text = '';
  for (const item of state.items) text += coded(item);
  text += SEPARATOR;
  for (const local of state.locals) text += coded(local);
  for (const flight of state.flights) text += coded(flight);
  return text + coded(((state.unansweredLeft * 8 + state.lateLeft) * 8 + state.failuresLeft) * 2 + state.abortsLeft);
}

function withFlights(flights: readonly number[], request: number, copies: number): readonly number[] {
  if (copies === 0) return flights;
  return [...flights, ...Array.from({ length: copies }, () => request)].toSorted((a, b) => a - b);
}
