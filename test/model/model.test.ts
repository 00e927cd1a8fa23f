import { describe, expect, test } from 'vitest';
import { runJob } from './engine/run-job.ts';
import { jobOf, jobWithout } from './jobs.ts';
import { rules } from './rules.ts';
import { searches } from './searches.ts';

// Every interleaving of small scopes, by the product's own code. README.md says how to read a trace.

const SLOW_MS = 300_000;

describe.concurrent('with all rules', () => {
  test.each(searches)('$name holds ($rows)', { timeout: SLOW_MS }, async (search) => {
    const verdict = await runJob(jobOf(search, search.small));
    expect(verdict.fault, verdict.trace.join('\n')).toBeUndefined();
    expect(verdict.complete).toBe(true);
    // A scope in which hardly anything happens proves nothing.
    expect(verdict.states).toBeGreaterThan(100);
  });
});

describe.concurrent('with a rule taken away', () => {
  test.each(rules)('$row: without "$without", $faults', { timeout: SLOW_MS }, async (rule) => {
    const { fault, trace } = await runJob(jobWithout(rule));
    expect(fault, 'the search finds nothing').toBeDefined();
    expect(rule.faults).toContain(fault?.split(':')[0]);
    expect(trace.length).toBeGreaterThan(0);
  });
});
