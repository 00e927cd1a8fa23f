import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { ScheduleHandler } from '../../src/cli/schedule-handler.ts';
import { batchObjectKey, batchObjectPrefix } from '../../src/format/object-key.ts';
import { nameKey } from '../../src/format/item-key.ts';
import { minuteOf, type ObjectId, type TopicId } from '../../src/model/ids.ts';
import { TENANT_DEFAULT, type Topic } from '../../src/model/topic.ts';
import { GARBAGE_AGE_MS } from '../../src/model/archive-limits.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { contextOf } from '../http/function-events.ts';
import { BODY, leftInShort, stage } from '../reference/some-uploads.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { buildFunctions, type BuiltFunctions } from './built-functions.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { answerOf, asking, PATH, publishing } from './functions/function-world.ts';

// The bundle that sweeps, on real stores, after a deletion whose objects could not be deleted.

const TEST_MS = 60_000;
const MESSAGES = 6;
const clock = createSystemClock();
const { signal } = new AbortController();

let built: BuiltFunctions;
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterAll(() => built.remove());

/** One event, and what its line says, which is its answer as well; or how it failed. */
async function eventOf(handler: ScheduleHandler, event: unknown = { source: 'aws.events' }): Promise<unknown> {
  const lines: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  try {
    const answer = await handler(event, contextOf(60_000));
    const line = JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>;
    expect(line).toMatchObject({ message: 'swept', ...answer });
    return answer;
  } catch (error) {
    return { error };
  } finally {
    log.mockRestore();
  }
}

const nothing = { carriedOn: 0, cleaned: 0, strays: 0, failed: 0 };
const deletionsOf = (deletions: Partial<typeof nothing> = {}) => ({ complete: true, deletions: { ...nothing, ...deletions } });

describe.each(['dynoxide', 'ministack'] as const)('on SeaweedFS and %s', (kind) => {
  test(
    'what a deleted topic has left goes, and nothing of the one that has its name now',
    async () => {
      const [address, own] = [await freshTable(kind, AbortSignal.timeout(TEST_MS)), sharedStack().store];
      const [table, store] = [createLeanTable({ ...address, clock }), createLeanStore({ ...own, clock })];
      const proxy = await startFaultProxy(own.endpoint);
      const api = await built.api({ ...own, endpoint: proxy.url }, address);
      const ask = async (event: Parameters<typeof api>[0]) => answerOf(await api(event, contextOf()));
      const made = async (): Promise<TopicId> => {
        expect((await ask(asking('PUT', PATH, { partitionKey: 'key' }))).status).toBe(201);
        for (let n = 0; n < MESSAGES; n += 1) expect((await ask(publishing(String(n)))).status).toBe(200);
        return String((await table.get(nameKey(TENANT_DEFAULT, 't'), signal))?.['topic']) as TopicId;
      };
      const objects = async (topic: TopicId): Promise<number> =>
        (await store.list(batchObjectPrefix(topic), { limit: 100 }, signal)).objects.length;

      const old = await made();
      const refusal = { kind: 'answer', status: 403, body: '<Error><Code>AccessDenied</Code></Error>' } as const;
      const refused = proxy.plant({ matches: ({ method }) => method === 'DELETE', fault: refusal, count: Infinity });
      const log = vi.spyOn(console, 'log').mockReturnValue();
      expect((await ask(asking('DELETE', PATH))).status).toBe(204);
      log.mockRestore();
      const now = await made();
      const kept = await objects(now);
      expect([await objects(old), kept].every((count) => count >= MESSAGES)).toBe(true);

      // The store refuses still: what could not be done fails the invocation, and is left.
      const sweepRefused = await built.sweep({ ...own, endpoint: proxy.url }, address);
      expect(await eventOf(sweepRefused)).toMatchObject({ error: { code: 'sweep-incomplete' } });
      refused.end();
      const sweep = await built.sweep(own, address);
      expect(await eventOf(sweep)).toMatchObject(deletionsOf({ cleaned: 1 }));
      expect([await objects(old), await objects(now)]).toEqual([0, kept]);

      // A PUT that was paused.
      await store.put(batchObjectKey(old, minuteOf(clock.nowMs()), 'o000000000000000' as ObjectId), [Uint8Array.of(1)], signal);
      expect(await eventOf(sweep)).toMatchObject(deletionsOf({ strays: 1 }));
      expect(await eventOf(sweep)).toMatchObject(deletionsOf());
      expect([await objects(old), await objects(now)]).toEqual([0, kept]);
      await proxy.close();
    },
    TEST_MS,
  );

  test(
    'uploads that nobody has submitted go, and objects that nobody has committed, once it is no dry run',
    async () => {
      const [address, own] = [await freshTable(kind, AbortSignal.timeout(TEST_MS)), sharedStack().store];
      const stores = { table: createLeanTable({ ...address, clock }), store: createLeanStore({ ...own, clock }) };
      const api = await built.api(own, address);
      const made = answerOf(await api(asking('PUT', PATH, { partitionKey: 'key' }), contextOf()));
      const topic = made.body as unknown as Topic;
      // Announced two days ago, and just now.
      await stage(stores, topic, { nowMs: clock.nowMs() - 2 * UPLOAD_MS, name: 'old' });
      await stage(stores, topic, { nowMs: clock.nowMs(), name: 'new' });
      const uploads = { examined: 2, expired: 1, bytes: BODY.length, failed: 0 };
      // Stored two hours ago, and just now.
      expect((await api(publishing('kept'), contextOf())) as { statusCode: number }).toMatchObject({ statusCode: 200 });
      const orphan = batchObjectKey(topic.id, minuteOf(clock.nowMs() - 2 * GARBAGE_AGE_MS), 'o000000000000000' as ObjectId);
      await stores.store.put(orphan, [BODY], signal);
      const garbage = { neverCommitted: 1, archived: 0, bytes: BODY.length, failed: 0 };

      const sweep = await built.sweep(own, address);
      expect(await eventOf(sweep, { dryRun: true })).toMatchObject({ dryRun: true, complete: true, uploads, garbage });
      expect(await leftInShort(stores, topic)).toBe('staged, staged, 2 objects');
      expect(await stores.store.head(orphan, signal)).toBeDefined();
      expect(await eventOf(sweep, { dryRun: 'yes' })).toMatchObject({ error: { code: 'invalid-dry-run' } });
      expect(await eventOf(sweep)).toMatchObject({ dryRun: false, complete: true, uploads, garbage });
      expect(await leftInShort(stores, topic)).toBe('staged, 1 objects');
      expect((await stores.store.list(batchObjectPrefix(topic.id), { limit: 2 }, signal)).objects).toHaveLength(1);

      // By hand, and by the function that leads.
      const asked = answerOf(await api(asking('POST', '/v1/sweep', { dryRun: true }), contextOf()));
      expect(asked).toMatchObject({
        status: 200,
        body: { dryRun: true, complete: true, uploads: { examined: 1, expired: 0 }, garbage: { neverCommitted: 0 } },
      });
    },
    TEST_MS,
  );
});
