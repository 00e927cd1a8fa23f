import { actionsOf, type Contender, isLeader, type Memory, type Outcome, play, START, type StepCall } from '../processes/contender.ts';
import { canonical, coded } from './intern.ts';
import type { Space, Successor } from './search.ts';
import { type Answer, NO_ITEM, type SharedTable } from './shared-table.ts';

// Time for the search: a request takes effect at any moment after it was sent, and is answered at any moment after that, or
// not at all. Whoever is frozen takes no steps while time passes; whoever was killed takes none ever again.

export type LeaseScope = {
  readonly contenders: readonly Contender[];
  /** How long it is watched. */
  readonly endMs: number;
  /** Writes whose answers are lost; and such ones as take effect only when nobody waits for them any more, or never. */
  readonly budgets: { readonly unanswered: number; readonly late: number };
};

export type LeaseState = {
  readonly nowMs: number;
  readonly item: number;
  /** Where each contender is. */
  readonly points: readonly number[];
  /** Writes that may still take effect. */
  readonly flights: readonly number[];
  readonly unansweredLeft: number;
  readonly lateLeft: number;
};
export type LeaseStep = { readonly who: string; readonly what: string };

/** Between two steps, or in one: what it waits for, and what that came to, once it has. */
type Point = { readonly contender: number; readonly next: Map<string, number> } & (Idle | Asking);
type Idle = { readonly memory: Memory };
type Asking = { readonly call: StepCall; readonly request: number; readonly reached?: Reached };
type Reached = { readonly kind: 'applied' | 'refused'; readonly item: number };

const UNKNOWN = -1;

/** All points of contenders' lives that were met, numbered; those that know the same between two steps are one. */
function createPoints({ contenders }: LeaseScope, shared: SharedTable) {
  const points: Point[] = [];
  const idle = new Map<string, number>();
  let wanted: { readonly from: Point; readonly key: string; readonly call: StepCall }[] = [];

  const add = (point: Point): number => points.push(point) - 1;
  const addIdle = (contender: number, memory: Memory): number => {
    const text = `${contender} ${canonical(memory)}`;
    const known = idle.get(text) ?? add({ contender, next: new Map(), memory });
    idle.set(text, known);
    return known;
  };
  const addOutcome = (contender: number, outcome: Outcome, call: StepCall): number =>
    'memory' in outcome
      ? addIdle(contender, outcome.memory)
      : add({ contender, next: new Map(), call, request: shared.requestId(outcome.request) });

  return {
    get: (id: number): Point => points[id] as Point,
    count: (): number => points.length,
    start: (contender: number): number => addIdle(contender, START),
    /** Where a step goes on; `UNKNOWN` until it is worked out. */
    after(from: Point, key: string, call: () => StepCall): number {
      const known = from.next.get(key);
      if (known === undefined) wanted.push({ from, key, call: call() });
      return known ?? UNKNOWN;
    },
    reached(from: Point & Asking, reached: Reached): number {
      const key = `${reached.kind} ${reached.item}`;
      const known = from.next.get(key) ?? add({ ...from, next: new Map(), reached });
      from.next.set(key, known);
      return known;
    },
    async learn(): Promise<void> {
      const asked = wanted;
      wanted = [];
      for (const { from, key, call } of asked) {
        if (from.next.has(key)) continue;
        const outcome = await play(contenders[from.contender] as Contender, call);
        from.next.set(key, addOutcome(from.contender, outcome, call));
      }
    },
  };
}

export function createLeaseSpace(scope: LeaseScope, shared: SharedTable) {
  const { contenders } = scope;
  const points = createPoints(scope, shared);
  let found: Successor<LeaseState, LeaseStep>[] = [];

  const push = (state: LeaseState, who: string, what: string): void => void found.push({ state, fault: undefined, step: { who, what } });
  const moved = (state: LeaseState, { contender }: Point, point: number): LeaseState => ({
    ...state,
    points: state.points.with(contender, point),
  });
  const nameOf = ({ contender }: Point): string => (contenders[contender] as Contender).name;

  function begin(state: LeaseState, point: Point & Idle): void {
    const { memory } = point;
    const { nowMs } = state;
    for (const action of actionsOf(contenders[point.contender] as Contender, memory, nowMs)) {
      const next = points.after(point, `${action} ${nowMs}`, () => ({ memory, action, nowMs, heard: [] }));
      push(moved(state, point, next), nameOf(point), `begins to ${action}`);
    }
  }

  function hear(state: LeaseState, point: Point & Asking, kind: 'item' | 'applied' | 'refused' | 'lost', item = NO_ITEM): LeaseState {
    const { call } = point;
    const { nowMs } = state;
    const answer = (): Answer => (kind === 'lost' ? { answer: kind } : { answer: kind, item: shared.itemOf(item) });
    const heard = (): StepCall => ({ ...call, heard: [...call.heard, { answer: answer(), nowMs }] });
    return moved(state, point, points.after(point, `${kind} ${item} ${nowMs}`, heard));
  }

  /** The request takes effect; or its sender gives it up before it does. A read is answered then: later, it would only be older. */
  function reach(state: LeaseState, point: Point & Asking): void {
    const request = shared.request(point.request);
    if (request.op === 'get') {
      push(hear(state, point, 'item', state.item), nameOf(point), `reads ${describe(state.item)}`);
      return;
    }
    const effect = shared.effect(point.request, state.item);
    const item = effect?.item ?? state.item;
    const kind = effect === undefined ? 'refused' : 'applied';
    push(
      { ...moved(state, point, points.reached(point, { kind, item })), item },
      nameOf(point),
      `${request.op} is ${kind}: ${describe(item)}`,
    );
    if (state.unansweredLeft === 0 || state.lateLeft === 0) return;
    const left = {
      ...unheard(state, point),
      flights: [...state.flights, point.request].toSorted((a, b) => a - b),
      lateLeft: state.lateLeft - 1,
    };
    push(left, nameOf(point), `hears nothing of its ${request.op}, which is on its way`);
  }

  const unheard = (state: LeaseState, point: Point & Asking): LeaseState => ({
    ...hear(state, point, 'lost'),
    unansweredLeft: state.unansweredLeft - 1,
  });

  function reply(state: LeaseState, point: Point & Asking, { kind, item }: Reached): void {
    push(hear(state, point, kind, item), nameOf(point), 'hears of it');
    if (state.unansweredLeft > 0) push(unheard(state, point), nameOf(point), 'hears nothing of it');
  }

  function land(state: LeaseState): void {
    for (const [index, request] of state.flights.entries()) {
      const effect = shared.effect(request, state.item);
      if (effect === undefined || effect.item === state.item) continue;
      const landed = { ...state, item: effect.item, flights: state.flights.toSpliced(index, 1) };
      push(landed, '(network)', `lands late: ${describe(effect.item)}`);
    }
  }

  function describe(item: number): string {
    const { epoch, version, holder } = shared.itemOf(item) ?? {};
    return item === NO_ITEM ? 'nothing' : `epoch ${String(epoch)} version ${String(version)} ${String(holder) || 'nobody'}`;
  }

  /** By its own reckoning. A term that is being given up is over. */
  function leads(state: LeaseState, id: number): boolean {
    const point = points.get(id);
    if ('call' in point && point.call.action === 'release') return false;
    const memory = 'call' in point ? point.call.memory : point.memory;
    return isLeader(contenders[point.contender] as Contender, memory, state.nowMs);
  }

  const space: Space<LeaseState, LeaseStep> = {
    async first() {
      const { unanswered, late } = scope.budgets;
      const idle = contenders.map((_, contender) => points.start(contender));
      return { nowMs: 0, item: NO_ITEM, points: idle, flights: [], unansweredLeft: unanswered, lateLeft: late };
    },
    successors(state) {
      found = [];
      for (const id of state.points) {
        const point = points.get(id);
        if ('memory' in point) begin(state, point);
        else if (point.reached === undefined) reach(state, point);
        else reply(state, point, point.reached);
      }
      land(state);
      if (state.nowMs < scope.endMs) push({ ...state, nowMs: state.nowMs + 1 }, '', `it is ${state.nowMs + 1}`);
      return found.some(({ state: next }) => next.points.includes(UNKNOWN)) ? undefined : found;
    },
    learn: points.learn,
    textOf({ nowMs, item, points: at, flights, unansweredLeft, lateLeft }) {
      return [(nowMs * 8 + unansweredLeft) * 8 + lateLeft, item, ...at, ...flights].map(coded).join('');
    },
  };
  return {
    ...space,
    count: points.count,
    /** L1: never two at once. */
    invariant(state: LeaseState): string | undefined {
      const leaders = state.points.filter((id) => leads(state, id)).map((id) => nameOf(points.get(id)));
      return leaders.length > 1 ? `two-leaders: ${leaders.join(' and ')} at ${state.nowMs}` : undefined;
    },
  };
}
