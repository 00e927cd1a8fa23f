import { beforeAll, describe, expect, test } from 'vitest';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import type { ScalingMemory, TopicMemory } from '../../src/control/scaling/scaling-memory.ts';
import type { TopicId } from '../../src/model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../../src/model/limits.ts';
import { someMemory } from '../control/scaling/some-memory.ts';

const random = createSystemRandom();
const freshTopic = (): TopicId => `t${random.base36(15)}` as TopicId;
const EMPTY: TopicMemory = { windows: new Map(), origins: new Map(), state: {}, hotKeys: [] };

/** What every memory must do, wherever it is kept. */
export function describeScalingMemory(name: string, make: () => Promise<ScalingMemory>): void {
  describe(`scaling memory: ${name}`, () => {
    const { signal } = new AbortController();
    let memory: ScalingMemory;
    beforeAll(async () => {
      memory = await make();
    });
    /** As a look does it: whoever writes has read. */
    async function goThrough(topic: TopicId, next: TopicMemory): Promise<TopicMemory | undefined> {
      await memory.read(topic, signal);
      await memory.write(topic, next, signal);
      return memory.read(topic, signal);
    }

    test('nothing is known of a topic that was never written', async () => {
      expect(await memory.read(freshTopic(), signal)).toBeUndefined();
    });

    test.each([1, 128, 129, SEGMENTS_OPEN_MAX])('what is written of %i segments is read', async (count) => {
      const topic = freshTopic();
      const next = someMemory(memory.nowMs(), { count });
      expect(await goThrough(topic, next)).toEqual(next);
    });

    test('nothing but what was written last: more segments, other ones, fewer, none', async () => {
      const topic = freshTopic();
      for (const [first, count] of [
        [0, 2],
        [0, 300],
        [290, 140],
        [500, 1],
      ] as const) {
        const next = someMemory(memory.nowMs(), { first, count });
        expect(await goThrough(topic, next)).toEqual(next);
      }
      expect(await goThrough(topic, EMPTY)).toEqual(EMPTY);
    });

    test('what is known in part: an origin without windows, windows without an origin, neither throttled nor hot', async () => {
      const whole = someMemory(memory.nowMs(), { count: 2 });
      const [one, other] = [...whole.windows.keys()];
      const only = <T>(map: ReadonlyMap<typeof one, T>, key: typeof one) => new Map([...map].filter(([segment]) => segment === key));
      const next = { windows: only(whole.windows, one), origins: only(whole.origins, other), state: {}, hotKeys: [] };
      expect(await goThrough(freshTopic(), next as TopicMemory)).toEqual(next);
    });

    test('twice in a row without a read', async () => {
      const topic = freshTopic();
      await memory.write(topic, someMemory(memory.nowMs(), { count: 3 }), signal);
      const next = someMemory(memory.nowMs(), { count: 2 });
      await memory.write(topic, next, signal);
      expect(await memory.read(topic, signal)).toEqual(next);
    });

    test('topics are known apart, and one that is kept stays known', async () => {
      const [one, other] = [freshTopic(), freshTopic()];
      const next = someMemory(memory.nowMs(), { count: 2 });
      await goThrough(one, next);
      await goThrough(other, someMemory(memory.nowMs(), { count: 1 }));
      memory.keep(new Set([one]));
      expect(await memory.read(one, signal)).toEqual(next);
    });

    test('its clock goes on', async () => {
      const beganMs = memory.nowMs();
      await expect.poll(() => memory.nowMs()).toBeGreaterThan(beganMs);
    });
  });
}
