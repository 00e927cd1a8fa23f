import { runJob } from './engine/run-job.ts';
import { jobOf, jobWithout } from './jobs.ts';
import { rules } from './rules.ts';
import { searches } from './searches.ts';

// `npm run model [name]`: the larger scopes (hours of interleavings, minutes of time), then each rule's trace.
// `--small`: the scopes of the tests. `--rules`: the traces alone.

const FLAGS = ['--small', '--rules'];
const given = process.argv.slice(2);
const words = given.filter((word) => !word.startsWith('--'));
const has = (flag: string): boolean => given.includes(flag);
const wanted = (name: string): boolean => words.length === 0 || words.some((word) => name.includes(word));
const number = (value: number): string => value.toLocaleString('en').padStart(12);

const names = [...searches.map((search) => search.name), ...rules.map((rule) => rule.row)];
if (given.some((word) => word.startsWith('--') && !FLAGS.includes(word)) || !names.some(wanted)) {
  console.error(`npm run model -- [${FLAGS.join('] [')}] [part of a name]; there are: ${[...new Set(names)].join(' ')}`);
  process.exit(2);
}

let failed = 0;
for (const search of has('--rules') ? [] : searches) {
  if (!wanted(search.name)) continue;
  for (const size of has('--small') ? [search.small] : search.large) {
    const verdict = await runJob(jobOf(search, size), (states, depth) => progress(`${search.name}: ${states} states, depth ${depth}`));
    const { states, transitions, depth, seconds, complete, fault, trace } = verdict;
    if (fault !== undefined || !complete) failed += 1;
    const outcome = fault === undefined ? (complete ? 'holds' : 'not finished') : `FAULT ${fault}`;
    print(
      `${search.name.padEnd(16)}${number(states)} states${number(transitions)} steps  depth ${depth}  ${seconds.toFixed(1)} s  ${outcome}  ${JSON.stringify(size)}`,
    );
    for (const line of trace) print(line);
  }
}
for (const rule of has('--small') ? [] : rules) {
  if (!wanted(rule.row)) continue;
  const { fault, trace, states } = await runJob(jobWithout(rule));
  if (fault === undefined) failed += 1;
  print(`\n${rule.row}: without "${rule.without}" (${states} states)${fault === undefined ? ': NOTHING FOUND' : ''}`);
  for (const line of trace) print(line);
}
process.exitCode = failed === 0 ? 0 : 1;

function print(line: string): void {
  process.stdout.write(`${process.stdout.isTTY ? '\r\u001b[K' : ''}${line}\n`);
}

function progress(line: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${line}`);
}
