import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RULES } from './tidy-rules.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const TEXT = /(\.(ts|mjs|cjs|json|md|yml|yaml|sh|html|css)|(^|\/)(run|LICENSE|\.npmrc|\.gitignore|\.gitattributes))$/;

/** What is committed or would be. */
function files(): string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  return listed.split('\n').filter((path) => TEXT.test(path) && existsSync(join(ROOT, path)));
}

test('there are files to look at', () => {
  expect(files().length).toBeGreaterThan(50);
});

test.each(Object.entries(RULES))('%s', (_, rule) => {
  const problems = files().flatMap((path) => rule(path, readFileSync(join(ROOT, path), 'utf8')).map((problem) => `${path}: ${problem}`));
  expect(problems).toEqual([]);
});

/** One violation each that the rule must find, and a neighbour that it must let pass. `_` is taken out: this file itself stays clean. */
const PLANTED: readonly [rule: string, path: string, bad: string, good: string][] = [
  ['noRegistryHost', 'README.md', 'see https://registry_.npmjs.org/x', 'see npm'],
  ['noMachinePath', 'src/a.ts', "const a = '/_root/x';", "const a = 'src/root/x';"],
  ['noMachinePath', '.ci/run', 'cd /_work/main', 'cd work/main'],
  ['noSharedFolder', 'test/a.ts', "readFile('../_shared/x')", "readFile('../x')"],
  ['nothingLeftBehind', 'src/a.ts', '// TO_DO later', '// todos are a topic'],
  ['nothingLeftBehind', 'test/a.test.ts', "test._only('x', f);", "test('only', f);"],
  ['nothingLeftBehind', 'test/a.test.ts', "describe.concurrent._skip('x', f);", 'offsets.skip(2)'],
  ['nothingLeftBehind', 'src/a.ts', '// @ts-_ignore', '// ts ignores this'],
  ['fileSize', 'src/a.ts', 'x\n'.repeat(301), 'x\n'.repeat(300)],
  ['fileSize', 'functions/a.ts', 'x\n'.repeat(31), 'x\n'.repeat(30)],
  ['fileName', 'src/Table.ts', '', ''],
  ['fileName', 'src/util_s/a.ts', '', ''],
  ['fileName', 'src/model/string-helper_s.ts', '', ''],
  ['fileName', 'src/model/inde_x.ts', '', ''],
  ['everyWaitHasASignal', 'src/a.ts', 'await this.table.get(key);', 'await table.get(key, signal);'],
  ['everyWaitHasASignal', 'src/a.ts', 'await deps.store.getRange(key, 0, 9);', 'await deps.store.getRange(key, 0, 9, signal);'],
  ['everyWaitHasASignal', 'src/a.ts', 'await deps.peers?.send(request);', 'await deps.peers?.send(request, signal);'],
  ['everyWaitHasASignal', 'src/a.ts', 'await clock.sleep(5);', 'await clock.sleep(5, AbortSignal.any([a.signal]));'],
  ['everyWaitHasASignal', 'src/a.ts', 'await fetch(url);', 'await fetch(url, { signal });'],
  ['everyWaitHasASignal', 'src/a.ts', 'await client.send(command);', 'await client.send(command, { abortSignal });'],
  ['everyWaitHasASignal', 'src/a.ts', 'f(new AbortController().signal);', 'f(controller.signal);'],
  ['everyWaitHasASignal', 'src/a.ts', 'function f(signal?: AbortSignal) {}', 'function f(signal: AbortSignal) {}'],
  ['fewParameters', 'src/a.ts', 'const f = (a: 1, b: 2, c: 3, d: 4) => 0;', 'const f = (a: 1, b: 2, c: 3, signal: AbortSignal) => 0;'],
  ['noAmbientDate', 'src/a.ts', 'const now = new Date();', 'const text = new Date(timeMs).toISOString();'],
];

test.each(PLANTED.map(([name, path, bad, good]) => ({ name, path, bad, good })))(
  '$name finds what is planted',
  ({ name, path, bad, good }) => {
    const rule = RULES[name];
    expect(rule?.(path.replace('_', ''), bad.replace('_', ''))).toHaveLength(1);
    expect(rule?.('src/a.test.ts', good)).toEqual([]);
  },
);

test('no rule is without a planted violation', () => {
  expect(new Set(PLANTED.map(([name]) => name))).toEqual(new Set(Object.keys(RULES)));
});
