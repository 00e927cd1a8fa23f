import { createInvariant } from './invariants.ts';
import type { Job, Verdict } from './run-job.ts';
import { search, type SearchOptions } from './search.ts';
import { checkWrite } from './stored-log.ts';
import { createLeaseSpace, type LeaseScope } from './lease-space.ts';
import { createSharedTable } from './shared-table.ts';
import { describeTrace } from './trace.ts';
import { createWorld, type Scope } from './world.ts';

/** Builds the job's scope, searches it, and describes what was found. */
export async function check(job: Job, progress: (states: number, depth: number) => void): Promise<Verdict> {
  const builders = (await import(`../scopes/${job.file}.ts`)) as Readonly<
    Record<string, ((size: Job['size']) => Scope | LeaseScope) | undefined>
  >;
  const build = builders[job.scope];
  if (build === undefined) throw new Error(`no scope ${job.scope} in scopes/${job.file}.ts`);
  const scope = build(job.size);
  const options = { statesMax: job.statesMax, progress, ...(job.kinds === undefined ? {} : { kinds: job.kinds }) };
  return 'contenders' in scope ? checkLease(scope, options) : checkLog(scope, options);
}

type Options = Omit<SearchOptions<never>, 'invariant'>;

async function checkLog(scope: Scope, options: Options): Promise<Verdict> {
  const world = createWorld(scope, checkWrite);
  const { found, ...counts } = await search(world, { ...options, invariant: createInvariant(world) });
  return { ...counts, fault: found?.fault, trace: found === undefined ? [] : describeTrace(world, found), locals: world.locals.count() };
}

async function checkLease(scope: LeaseScope, options: Options): Promise<Verdict> {
  const space = createLeaseSpace(
    scope,
    createSharedTable(() => undefined),
  );
  const { found, ...counts } = await search(space, { ...options, invariant: space.invariant });
  const steps = found?.trace.map(({ who, what }, index) => `${String(index + 1).padStart(3)}. ${who.padEnd(12)} ${what}`) ?? [];
  const trace = found === undefined ? [] : [...steps, `     fault: ${found.fault}`];
  return { ...counts, fault: found?.fault, trace, locals: space.count() };
}
