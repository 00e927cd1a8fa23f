import { beforeEach, describe, expect, test } from 'vitest';
import { assembleSweep } from '../../src/cli/assemble-sweep.ts';
import { GARBAGE_AGE_MS } from '../../src/model/archive-limits.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { contextOf } from '../http/function-events.ts';
import { BODY, leftInShort, NOTHING, stage } from '../reference/some-uploads.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';

// The function that a schedule starts, or somebody by hand.

let world: TestWorld;
let topic: Topic;
let lines: Record<string, unknown>[];
beforeEach(async () => {
  world = createTestWorld();
  topic = await world.topic();
  lines = [];
  await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a' });
  await world.clock.advance(UPLOAD_MS);
});

function invoke(event: unknown, store = world.store) {
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return world.run(
    assembleSweep({ garbageAgeMs: GARBAGE_AGE_MS }, { table: world.table, store, clock: world.clock, write })(event, contextOf(300_000)),
  );
}

const { complete: _, ...nothing } = NOTHING;
const deletions = { carriedOn: 0, cleaned: 0, strays: 0, failed: 0 };
const retention = { examined: 0, messages: 0, bytes: 0, failed: 0, cuts: [] };
const garbage = { neverCommitted: 0, archived: 0, files: 0, uploads: 0, pages: 0, lines: 0, requests: 0, bytes: 0, failed: 0 };
const swept = { complete: true, uploads: { ...nothing, examined: 1, expired: 1, bytes: BODY.length }, deletions, retention, garbage };

describe('an event', () => {
  test.each([[{ source: 'aws.events' }], [{}], [null], [undefined], ['now'], [{ dryRun: false }]])(
    'that is %j sweeps; the report is its answer, and a line',
    async (event) => {
      expect(await invoke(event)).toEqual({ dryRun: false, ...swept });
      expect(lines).toMatchObject([{ level: 'info', message: 'swept', dryRun: false, ...swept, counts: { 'kelp.uploads.expired': 1 } }]);
      expect(await leftInShort(world, topic)).toBe('0 objects');
    },
  );

  test('of a dry run says what one would do', async () => {
    expect(await invoke({ dryRun: true })).toEqual({ dryRun: true, ...swept });
    expect(lines).toMatchObject([{ level: 'info', message: 'swept', dryRun: true, ...swept, counts: {} }]);
    expect(await leftInShort(world, topic)).toBe('staged, 1 objects');
  });

  test.each([['true'], [1], [null]])('whose dryRun is %j is refused, and does nothing', async (dryRun) => {
    await expect(invoke({ dryRun })).rejects.toMatchObject({ code: 'invalid-dry-run' });
    expect(await leftInShort(world, topic)).toBe('staged, 1 objects');
  });

  test('that could not do all of it fails the invocation, and tells the rest', async () => {
    const store = interceptStore(world.store, (call, make) =>
      call.op === 'delete' ? Promise.reject(new KelpError('invalid', 'store-refused', 'planted')) : make(),
    );
    const failed = await invoke({}, store).then(
      () => expect.unreachable(),
      (error: KelpError) => error,
    );
    expect(failed.code).toBe('sweep-incomplete');
    expect(JSON.parse(failed.message)).toEqual({ ...swept, dryRun: false, uploads: { ...nothing, examined: 1, failed: 1 } });
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'an upload is left for the next sweep'],
      ['error', 'sweeping failed'],
    ]);
  });
});
