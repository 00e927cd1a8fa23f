import { createInvariant } from './invariants.ts';
import type { Job, Verdict } from './run-job.ts';
import { search } from './search.ts';
import { checkWrite } from './stored-log.ts';
import { describeTrace } from './trace.ts';
import { createWorld, type Scope } from './world.ts';

/** Builds the job's scope, searches it, and describes what was found. */
export async function check(job: Job, progress: (states: number, depth: number) => void): Promise<Verdict> {
  const builders = (await import(`../scopes/${job.file}.ts`)) as Readonly<Record<string, ((size: Job['size']) => Scope) | undefined>>;
  const build = builders[job.scope];
  if (build === undefined) throw new Error(`no scope ${job.scope} in scopes/${job.file}.ts`);
  const world = createWorld(build(job.size), checkWrite);
  const { statesMax, kinds } = job;
  const options = { statesMax, invariant: createInvariant(world), progress, ...(kinds === undefined ? {} : { kinds }) };
  const { found, ...counts } = await search(world, options);
  return { ...counts, fault: found?.fault, trace: found === undefined ? [] : describeTrace(world, found), locals: world.locals.count() };
}
