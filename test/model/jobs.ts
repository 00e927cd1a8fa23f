import type { Job } from './engine/run-job.ts';
import type { Rule } from './rules/rule.ts';
import { LIMITS, searches } from './searches.ts';
import type { Search, Size } from './searches/search.ts';

const STATES_MAX = 12_000_000;

/** The search with all rules. */
export function jobOf(search: Search, size: Size): Job {
  const { file, scope, limits } = search;
  return { file, scope, size, limits: { ...LIMITS, ...limits }, patches: [], statesMax: STATES_MAX };
}

/** The same in a small scope, with a rule taken away. */
export function jobWithout(rule: Rule): Job {
  const search = searches.find(({ name }) => name === rule.search);
  if (search === undefined) throw new Error(`no search ${rule.search}`);
  const job = jobOf(search, { ...search.small, ...rule.size });
  return { ...job, limits: { ...job.limits, ...rule.limits }, patches: rule.patches, kinds: rule.faults };
}
