import { expect, test } from 'vitest';
import { parseOptions } from '../../infra/bench/options.ts';

test('without options all cases run for six seconds each', () => {
  expect(parseOptions([])).toEqual({
    cases: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u'],
    seconds: 6,
    instances: 200,
  });
});

test('cases run in order, whatever the order in which they are named', () => {
  const all = ['--only', 'e,b', '--seconds=2', '--instances', '40', '--out', 'x.jsonl'];
  expect(parseOptions(all)).toEqual({ cases: ['b', 'e'], seconds: 2, instances: 40, out: 'x.jsonl' });
  expect(parseOptions(['--only', 'fleet,a'])).toMatchObject({ cases: ['a', 'h', 'i', 'j', 'k', 'l', 'm'] });
  expect(parseOptions(['--help'])).toBeUndefined();
});

test.each([
  [['--only', 'z']],
  [['--only', '']],
  [['--only', 'a,']],
  [['--seconds', '0']],
  [['--seconds', '2.5']],
  [['--instances', '7']],
  [['--instances', '201']],
  [['--fast']],
  [['a']],
])('%j is refused in one line', (args) => {
  expect(() => parseOptions(args)).toThrow(expect.objectContaining({ code: 'invalid-option', message: expect.stringMatching(/^[^\n]+$/) }));
});
