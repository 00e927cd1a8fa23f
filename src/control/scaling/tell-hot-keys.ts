import type { TopicId } from '../../model/ids.ts';
import type { HotKey } from '../../model/scaling.ts';
import type { Topic } from '../../model/topic.ts';
import type { Telemetry } from '../../ports/telemetry.ts';

/** Says which partitions no split relieves: whoever chose the keys has to know. */
export type HotKeyTeller = {
  /** What a look has found, and the one before it. Each is logged when it appears, when its partition is found, and when it is gone. */
  tell(topic: Pick<Topic, 'id' | 'name'>, before: readonly HotKey[], now: readonly HotKey[]): void;
  /** Of all topics but these, nobody looks any more. */
  keep(topics: ReadonlySet<TopicId>): void;
};

export function createHotKeyTeller({ telemetry }: { readonly telemetry: Telemetry }): HotKeyTeller {
  const shown = new Map<TopicId, number>();
  const show = (topic: TopicId, count: number): void => {
    telemetry.adjust('kelp.hot_keys', count - (shown.get(topic) ?? 0));
    if (count === 0) shown.delete(topic);
    else shown.set(topic, count);
  };
  return {
    tell({ id, name }, before, now) {
      show(id, now.length);
      const fields = ({ segment, lo, hi, share, load }: HotKey) => ({ topic: id, name, segment, lo, hi, share, load });
      for (const key of now.filter((one) => !before.some((other) => overlaps(one, other) && !isFound(one, other)))) {
        telemetry.log('warn', 'a few partitions carry more than half of a segment that is over its target', fields(key));
      }
      for (const key of before.filter((one) => !now.some((other) => overlaps(one, other)))) {
        telemetry.log('info', 'these partitions carry that much no more', fields(key));
      }
    },
    keep(topics) {
      for (const topic of shown.keys()) if (!topics.has(topic)) show(topic, 0);
    },
  };
}

/** What was a range before is one partition now. */
const isFound = (now: HotKey, before: HotKey): boolean => now.lo === now.hi && before.lo !== before.hi;

/** The same one, though its neighbours were cut off meanwhile. */
const overlaps = (one: HotKey, other: HotKey): boolean => one.lo <= other.hi && other.lo <= one.hi;
