import type { Item } from '../../../src/ports/metadata-table.ts';
import type { Background } from '../../../src/ports/background.ts';
import { commitBatch } from '../../../src/publish/commit-batch.ts';
import type { CommitDeps } from '../../../src/publish/commit-deps.ts';
import { createSpiller } from '../../../src/publish/spill.ts';
import { isTransient } from '../../../src/state/ask-again.ts';
import type { Process } from '../engine/process.ts';
import { type BrokerClock, brokerDeps, NEVER_ABORTED } from './broker.ts';
import { commitRequest, outcomeOf, type Publication, resultsOf } from './publisher.ts';

/**
 * One instance with several groups in flight: they share what it knows of heads and its commit ids, and it spills in the
 * background, from the newest head that it has seen.
 */
export function oneBroker(name: string, broker: BrokerClock, groups: readonly Publication[], known: readonly Item[]): Process {
  return {
    name,
    start: {},
    mayFail: true,
    phases: [
      async (table, _state, signal) => {
        const tasks: Promise<void>[] = [];
        const deps: CommitDeps = { ...brokerDeps(table, broker, known), background: collecting(tasks) };
        const spiller = createSpiller(deps);
        const commit = async (group: Publication) => {
          const outcome = await outcomeOf(commitBatch(deps, commitRequest(group), signal));
          if (outcome.outcome === 'done' && outcome.head !== undefined) spiller.committed(outcome.head);
          return resultsOf(group, outcome);
        };
        const results = await Promise.all(groups.map(commit));
        await Promise.all(tasks);
        return { results: results.flat() };
      },
    ],
  };
}

/** Begins at once, like a process's own; what fails is tried again by the next one. */
const collecting = (tasks: Promise<void>[]): Background => ({
  run(_name, _msMax, task) {
    tasks.push(
      task(NEVER_ABORTED).catch((error: unknown) => {
        if (!isTransient(error)) throw error;
      }),
    );
  },
});
