import { expect, test } from 'vitest';
import { parseOptions } from '../../infra/demo/options.ts';
import { createProgress, type Screen } from '../../infra/demo/progress.ts';

const TOKEN = { KELP_ROOT_TOKEN: 'a-token' };

test('without options it starts everything and takes 200,000 rows', () => {
  expect(parseOptions([], {})).toEqual({ rows: 200_000, segments: 4 });
});

test('options are taken', () => {
  const args = ['--rows', '3000000', '--segments=64', '--url', 'http://127.0.0.1:7333/'];
  expect(parseOptions(args, TOKEN)).toEqual({
    rows: 3_000_000,
    segments: 64,
    endpoint: { url: 'http://127.0.0.1:7333', token: 'a-token', keep: false },
  });
  expect(parseOptions(['--url', 'http://127.0.0.1:7333', '--keep'], TOKEN)).toMatchObject({ endpoint: { keep: true } });
  expect(parseOptions(['-h'], {})).toBeUndefined();
});

test.each([
  [['--rows', '0']],
  [['--rows', '3000001']],
  [['--rows', '1e3']],
  [['--rows=']],
  [['--rows']],
  [['--segments', '65']],
  [['--row', '1']],
  [['200']],
  [['--keep']],
  [['--url', 'localhost:7333']],
  [['--url', 'http://localhost:7333/v1']],
])('%j is refused in one line', (args) => {
  const error = errorOf(() => parseOptions(args, TOKEN));
  expect(error).toMatchObject({ kind: 'invalid', code: 'invalid-option' });
  expect((error as Error).message).toMatch(/^[^\n]+$/);
});

function errorOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

test('an endpoint without a token is refused', () => {
  expect(() => parseOptions(['--url', 'http://localhost:7333'], {})).toThrow('KELP_ROOT_TOKEN');
});

function shown(screen: Omit<Screen, 'write'>): string {
  let text = '';
  let nowMs = 0;
  const progress = createProgress({
    what: 'publish',
    total: 1_000,
    screen: { ...screen, write: (more) => (text += more) },
    nowMs: () => nowMs,
  });
  for (let done = 0; done <= 1_000; done += 10) {
    nowMs = done;
    progress.update(done);
  }
  progress.end();
  return text;
}

test('without a terminal progress is ten plain lines', () => {
  const lines = shown({}).trimEnd().split('\n');
  expect(lines).toHaveLength(10);
  expect(lines[4]).toBe('publish 50 %, 500 rows, 1,000 rows/s, 1 s left');
  expect(lines.at(-1)).toBe('publish 100 %, 1,000 rows, 1,000 rows/s');
});

test('on a terminal progress is one line that is drawn anew and fits', () => {
  const text = shown({ isTTY: true, columns: 50 });
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  const drawn = text.split('\r').map((line) => line.replace('\u001B[2K', '').trimEnd());
  expect(drawn).toHaveLength(13);
  expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(50);
});
