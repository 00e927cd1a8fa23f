import { expect, test } from 'vitest';
import { parseOptions } from '../../infra/soak-options.ts';

test('without options it is ten minutes, and any seed', () => {
  expect(parseOptions([], {})).toEqual({ runMs: 600_000 });
});

test('the seed comes by option, else by environment', () => {
  expect(parseOptions(['--minutes', '3'], { KELP_TEST_SEED: '7' })).toEqual({ runMs: 180_000, seed: '7' });
  expect(parseOptions(['--seed=a1'], { KELP_TEST_SEED: '7' })).toEqual({ runMs: 600_000, seed: 'a1' });
  expect(parseOptions(['--help'], {})).toBeUndefined();
});

test.each([
  [['--minutes', '0']],
  [['--minutes', '1441']],
  [['--minutes', '1.5']],
  [['--seed', '']],
  [['--seed', 'a b']],
  [['--fast']],
  [['3']],
])('%j is refused in one line', (args) => {
  expect(() => parseOptions(args, {})).toThrow(
    expect.objectContaining({ code: 'invalid-option', message: expect.stringMatching(/^[^\n]+$/) }),
  );
});
