import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Call, type End, linearize, type Operation, type PublishOutcome } from './linearizable.ts';

/** What one client does, and how many steps before and behind its effect it is invoked and completed. */
const Step = fc.record({
  does: fc.constantFrom('publish', 'publish', 'publish', 'match', 'read', 'read', 'tail', 'seal'),
  answer: fc.constantFrom('known', 'known', 'refused', 'unknown'),
  lands: fc.boolean(),
  count: fc.integer({ min: 1, max: 2 }),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  before: fc.integer({ min: 0, max: 3 }),
  behind: fc.integer({ min: 0, max: 3 }),
});
type Step = typeof Step extends fc.Arbitrary<infer T> ? T : never;

const STEP = 1_000;

/** Steps that take effect one after the other on one log, told in any order. */
const TrueHistory = fc
  .array(Step, { minLength: 1, maxLength: 10 })
  .map((steps) => {
    const log: string[] = [];
    const state = { log, sealed: false };
    return steps.map((step, n): Operation => {
      const call = perform(state, step, `m${n}`);
      const invokedAt = (n - step.before) * STEP + n;
      // Of an unknown outcome the client hears at any time, also before it lands.
      const completedAt = (n + step.behind) * STEP + STEP / 2 + n;
      const isUnknown = step.answer === 'unknown' && (call.kind === 'publish' || call.kind === 'seal');
      return { ...call, client: `c${n}`, invokedAt, completedAt: isUnknown ? invokedAt + 1 : completedAt };
    });
  })
  .chain((operations) => fc.shuffledSubarray(operations, { minLength: operations.length }));

function perform(state: { log: string[]; sealed: boolean }, step: Step, id: string): Call {
  const { log } = state;
  const end: End = { tail: log.length, sealed: state.sealed };
  const from = Math.round(step.at * log.length);
  if (step.does === 'tail') return { kind: 'tail', end };
  if (step.does === 'read') {
    const values = log.slice(from, from + step.count);
    return { kind: 'read', from, values, ...(values.length === 0 ? { end } : {}) };
  }
  if (step.does === 'seal') {
    state.sealed ||= step.answer !== 'unknown' || step.lands;
    return { kind: 'seal', outcome: step.answer === 'unknown' ? 'unknown' : 'done' };
  }
  const values = Array.from({ length: step.count }, (_, m) => `${id}.${m}`);
  const match = step.does === 'match' ? { matchTail: from } : {};
  const fits = !state.sealed && (match.matchTail ?? log.length) === log.length;
  const outcome = outcomeOf(step, { fits, end });
  if (outcome.kind === 'stored' || (outcome.kind === 'unknown' && fits && step.lands)) log.push(...values);
  return { kind: 'publish', values, ...match, outcome };
}

function outcomeOf({ answer }: Step, { fits, end }: { readonly fits: boolean; readonly end: End }): PublishOutcome {
  if (answer === 'unknown') return { kind: 'unknown' };
  // Refused for another reason, such as a throttle, it says nothing of the segment.
  if (fits) return answer === 'refused' ? { kind: 'refused' } : { kind: 'stored', offset: end.tail ?? 0 };
  return { kind: 'refused', end };
}

/** Every order of every choice of unknown ones, tried in full: slow, and plain enough to be believed. */
function isLinearizableByTrying(operations: readonly Operation[], placed: readonly Operation[] = []): boolean {
  const isOptional = (one: Operation): boolean =>
    (one.kind === 'seal' && one.outcome === 'unknown') || (one.kind === 'publish' && one.outcome.kind === 'unknown');
  const rest = operations.filter((one) => !placed.includes(one));
  if (rest.every(isOptional) && isTold(placed)) return true;
  return rest.some((one) => isLinearizableByTrying(operations, [...placed, one]));

  function isTold(order: readonly Operation[]): boolean {
    const inTime = order.every((one, n) => order.slice(n + 1).every((later) => isOptional(later) || later.completedAt > one.invokedAt));
    const log: string[] = [];
    let sealed = false;
    const agrees = (end: End | undefined): boolean => (end?.tail ?? log.length) === log.length && (end?.sealed ?? sealed) === sealed;
    return inTime && order.every(agreesWithLog);

    function agreesWithLog(one: Operation): boolean {
      if (one.kind === 'seal') return (sealed = true);
      if (one.kind === 'tail') return agrees(one.end);
      if (one.kind === 'read') {
        const shown = log.slice(one.from, one.from + one.values.length);
        return (
          agrees(one.end) && one.from <= log.length && shown.join() === one.values.join() && (shown.length > 0 || one.from === log.length)
        );
      }
      if (one.outcome.kind === 'refused') return agrees(one.outcome.end);
      const offset = one.outcome.kind === 'stored' ? one.outcome.offset : log.length;
      const isRight = !sealed && offset === log.length && (one.matchTail ?? offset) === offset;
      log.push(...one.values);
      return isRight;
    }
  }
}

/** True or false: answers that fit and answers that don't. */
const AnyOutcome: fc.Arbitrary<PublishOutcome> = fc.oneof(
  fc.record({ kind: fc.constant('stored' as const), offset: fc.integer({ min: 0, max: 2 }) }),
  fc.constant({ kind: 'refused' as const, end: { sealed: true } }),
  fc.constant({ kind: 'unknown' as const }),
);
const AnyCall: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('publish' as const), values: fc.constantFrom(['x'], ['y']), outcome: AnyOutcome }),
  },
  fc.record({
    kind: fc.constant('read' as const),
    from: fc.integer({ min: 0, max: 1 }),
    values: fc.constantFrom([], ['x'], ['y'], ['x', 'y']),
  }),
  fc.record({ kind: fc.constant('tail' as const), end: fc.record({ tail: fc.integer({ min: 0, max: 2 }) }) }),
  fc.record({ kind: fc.constant('seal' as const), outcome: fc.constantFrom('done' as const, 'unknown' as const) }),
);
const AnyHistory = fc.array(fc.tuple(AnyCall, fc.nat(20), fc.nat(20)), { minLength: 1, maxLength: 5 }).map((calls) =>
  calls.map(([call, start, length], n): Operation => ({
    ...call,
    client: `c${n}`,
    invokedAt: 10 * start + n,
    completedAt: 10 * (start + length) + n + 5,
  })),
);

describe('a search for an order', () => {
  test('finds one for every true history', () => {
    fc.assert(fc.property(TrueHistory, (operations) => void expect(linearize(operations)).toMatchObject({ isLinearizable: true })));
  });

  test('finds one exactly where trying all of them does', () => {
    let yes = 0;
    fc.assert(
      fc.property(AnyHistory, (operations) => {
        const expected = isLinearizableByTrying(operations);
        yes += Number(expected);
        expect(linearize(operations).isLinearizable).toBe(expected);
      }),
      { numRuns: 500, seed: 1 },
    );
    expect(yes).toBeGreaterThan(100);
    expect(yes).toBeLessThan(400);
  });

  test('gives up aloud where a history is too long', () => {
    const operations = Array.from({ length: 21 }, (_, n) => op(n, n + 1, { kind: 'tail', end: { tail: 0 } }));
    expect(() => linearize(operations)).toThrow('21 operations');
  });
});

const op = (invokedAt: number, completedAt: number, call: Call): Operation => ({ ...call, client: 'c', invokedAt, completedAt });
const publish = (value: string, outcome: PublishOutcome, other: { readonly matchTail?: number } = {}): Call => ({
  kind: 'publish',
  values: [value],
  outcome,
  ...other,
});
const stored = (value: string, offset: number): Call => publish(value, { kind: 'stored', offset });
const unknown = (value: string): Call => publish(value, { kind: 'unknown' });
const read = (from: number, ...values: string[]): Call => ({ kind: 'read', from, values });
const tail = (at: number, sealed = false): Call => ({ kind: 'tail', end: { tail: at, sealed } });
const seal: Call = { kind: 'seal', outcome: 'done' };

/** One after the other, each completed before the next is invoked. */
const oneByOne = (...calls: Call[]): Operation[] => calls.map((call, n) => op(10 * n, 10 * n + 5, call));
/** All at once. */
const together = (...calls: Call[]): Operation[] => calls.map((call, n) => op(n, 100 + n, call));

/** Each with the nearest history that has an order. */
const PLANTED: readonly [what: string, wrong: Operation[], right: Operation[]][] = [
  ['an acknowledged message is not read', oneByOne(stored('x', 0), read(0)), together(stored('x', 0), read(0))],
  ['an acknowledged message is not in the tail', oneByOne(stored('x', 0), tail(0)), oneByOne(stored('x', 0), tail(1))],
  [
    'a refused message is read',
    oneByOne(publish('x', { kind: 'refused' }), read(0, 'x')),
    oneByOne(publish('x', { kind: 'unknown' }), read(0, 'x')),
  ],
  ['two are acknowledged at one offset', together(stored('x', 0), stored('y', 0)), together(stored('x', 1), stored('y', 0))],
  ['offsets go against the time', oneByOne(stored('x', 1), stored('y', 0)), oneByOne(stored('x', 0), stored('y', 1))],
  ['the tail goes back', oneByOne(unknown('x'), tail(1), tail(0)), oneByOne(unknown('x'), tail(0), tail(1))],
  [
    'a read shows a later message without an earlier one',
    together(stored('x', 0), stored('y', 1), read(0, 'y')),
    together(stored('x', 0), stored('y', 1), read(1, 'y')),
  ],
  ['an unknown one is read, then not', oneByOne(unknown('x'), read(0, 'x'), read(0)), oneByOne(unknown('x'), read(0), read(0, 'x'))],
  [
    'two unknown ones are read in either order',
    oneByOne(unknown('x'), unknown('y'), read(0, 'x', 'y'), read(0, 'y', 'x')),
    oneByOne(unknown('x'), unknown('y'), read(0, 'y', 'x'), read(1, 'x')),
  ],
  ['an unknown one takes effect before it is sent', oneByOne(read(0, 'x'), unknown('x')), together(read(0, 'x'), unknown('x'))],
  ['a message is read twice', oneByOne(stored('x', 0), read(0, 'x', 'x')), oneByOne(stored('x', 0), stored('x', 1), read(0, 'x', 'x'))],
  ['half of a publish is stored', oneByOne({ ...unknown('x'), values: ['x', 'y'] } as Call, tail(1)), oneByOne(unknown('x'), tail(1))],
  ['a message is acknowledged behind a seal', oneByOne(seal, stored('x', 0)), together(seal, stored('x', 0))],
  [
    'a sealed segment grows',
    oneByOne(unknown('x'), seal, tail(0, true), tail(1, true)),
    oneByOne(unknown('x'), tail(0), seal, tail(1, true)),
  ],
  ['a seal is undone', oneByOne(seal, tail(0)), oneByOne({ kind: 'seal', outcome: 'unknown' }, tail(0))],
  [
    'a message is stored at another tail than it asks for',
    oneByOne(stored('x', 0), publish('y', { kind: 'unknown' }, { matchTail: 0 }), tail(2)),
    oneByOne(stored('x', 0), publish('y', { kind: 'unknown' }, { matchTail: 1 }), tail(2)),
  ],
  [
    'a refusal tells a tail that never was',
    oneByOne(stored('x', 0), publish('y', { kind: 'refused', end: { tail: 0 } })),
    oneByOne(stored('x', 0), publish('y', { kind: 'refused', end: { tail: 1 } })),
  ],
];

describe('a planted fault is found, and its neighbour is none', () => {
  test.each(PLANTED.map(([what, wrong, right]) => ({ what, wrong, right })))('$what', ({ wrong, right }) => {
    expect(linearize(wrong)).toMatchObject({ isLinearizable: false });
    expect(linearize(right)).toMatchObject({ isLinearizable: true });
  });

  test('it tells where it got stuck', () => {
    const [first, second, third] = oneByOne(stored('x', 0), tail(1), tail(0));
    expect(linearize([first!, second!, third!])).toEqual({ isLinearizable: false, order: [first, second], left: [third] });
  });
});
