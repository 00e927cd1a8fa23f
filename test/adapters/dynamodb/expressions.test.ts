import { describe, expect, test } from 'vitest';
import { compileExpressions } from '../../../src/adapters/dynamodb/expressions.ts';
import { EXPRESSION_BYTES_MAX, EXPRESSION_OPERATORS_MAX } from '../../../src/model/limits.ts';
import type { Change, Clause, Condition } from '../../../src/ports/metadata-table.ts';

const REFUSED = expect.objectContaining({ kind: 'invalid', code: 'table-refused' }) as unknown as Error;
const equals = (name: string, value: number): Clause => ({ op: '=', path: [name], value });
const clauses = (count: number): Condition => Array.from({ length: count }, () => equals('a', 1));
const adds = (count: number): Change[] => Array.from({ length: count }, (_, index) => ({ op: 'add', path: ['n', index], value: 1 }));
const sets = (count: number): Change[] => Array.from({ length: count }, (_, index) => ({ op: 'set', path: [`n${index}`], value: 1 }));

describe('expressions', () => {
  test('a commit', () => {
    const condition: Condition = [
      { op: '=', path: ['state'], value: 'open' },
      { op: '<', path: ['g'], value: 'cid' },
      { op: 'missing', path: ['c', 'cid'] },
      { op: 'size<', path: ['c'], value: 64 },
    ];
    const changes: Change[] = [
      { op: 'copy', path: ['c', 'cid'], from: ['tail'] },
      { op: 'set', path: ['m', 'cid'], value: { o: 'object' } },
      { op: 'add', path: ['tail'], value: 3 },
      { op: 'add', path: ['histogram', 5], value: 3 },
      { op: 'remove', path: ['p', 'victim'] },
      { op: 'remove', path: ['old'] },
    ];
    expect(compileExpressions(condition, changes)).toEqual({
      condition: '#0 = :0 AND #1 < :1 AND attribute_not_exists(#2.#3) AND size(#2) < :2',
      update: 'SET #2.#3=#4,#5.#3=:3,#4=#4+:4,#6[5]=#6[5]+:5 REMOVE #7.#8,#9',
      names: {
        '#0': 'state',
        '#1': 'g',
        '#2': 'c',
        '#3': 'cid',
        '#4': 'tail',
        '#5': 'm',
        '#6': 'histogram',
        '#7': 'p',
        '#8': 'victim',
        '#9': 'old',
      },
      values: { ':0': 'open', ':1': 'cid', ':2': 64, ':3': { o: 'object' }, ':4': 3, ':5': 3 },
    });
  });

  test('nothing: nothing, since the API refuses empty members', () => {
    expect(compileExpressions([])).toEqual({});
  });

  test('an alternative within a conjunction is in parentheses, and no other', () => {
    const condition: Condition = [
      equals('a', 1),
      { op: 'or', any: [[equals('b', 2)], [equals('c', 3), { op: 'or', any: [[equals('d', 4)], [equals('e', 5)]] }]] },
    ];
    expect(compileExpressions(condition).condition).toBe('#0 = :0 AND (#1 = :1 OR #2 = :2 AND (#3 = :3 OR #4 = :4))');
    expect(compileExpressions([{ op: 'or', any: [[{ op: 'or', any: [[equals('a', 1)], [equals('b', 2)]] }]] }]).condition).toBe(
      '#0 = :0 OR #1 = :1',
    );
  });

  test('an alternative that always holds takes no placeholder', () => {
    expect(compileExpressions([equals('a', 1), { op: 'or', any: [[equals('b', 2)], []] }])).toEqual({
      condition: '#0 = :0',
      names: { '#0': 'a' },
      values: { ':0': 1 },
    });
  });

  test('operators are counted as the API counts them', () => {
    // A comparison each, and an AND between them: 2n - 1.
    expect(() => compileExpressions(clauses(EXPRESSION_OPERATORS_MAX / 2))).not.toThrow();
    expect(() => compileExpressions(clauses(EXPRESSION_OPERATORS_MAX / 2 + 1))).toThrow(REFUSED);
    expect(compileExpressions([], adds(200)).update?.match(/\+/g)).toHaveLength(200);
    expect(() => compileExpressions([], adds(EXPRESSION_OPERATORS_MAX + 1))).toThrow(REFUSED);
  });

  test('bytes are counted', () => {
    const lengths = Array.from({ length: 600 }, (_, count) => updateLength(sets(count + 1)));
    const allowed = lengths.filter((length) => length !== undefined);
    expect(Math.max(...allowed)).toBeLessThanOrEqual(EXPRESSION_BYTES_MAX);
    expect(Math.max(...allowed)).toBeGreaterThan(EXPRESSION_BYTES_MAX - 12);
    expect(allowed.length).toBeLessThan(lengths.length);
  });

  test.for<Change[]>([
    [{ op: 'set', path: [], value: 1 }],
    [{ op: 'set', path: ['pk'], value: 1 }],
    [{ op: 'remove', path: ['l', 0] }],
    [
      { op: 'set', path: ['a', 'b'], value: 1 },
      { op: 'remove', path: ['a'] },
    ],
  ])('changes that implementations treat differently are refused: %o', (changes) => {
    expect(() => compileExpressions([], changes)).toThrow(REFUSED);
  });
});

function updateLength(changes: Change[]): number | undefined {
  try {
    return compileExpressions([], changes).update?.length;
  } catch {
    return undefined;
  }
}
