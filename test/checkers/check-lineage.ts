import type { Descent, Finding, Read } from './history.ts';

/** A segment is handed out after all that it continues: nothing of those comes behind its first message. */
export function checkLineage({ reader, messages }: Read, segments: readonly Descent[]): Finding[] {
  const ancestors = ancestorsOf(segments);
  const begun = new Set<string>();
  const closed = new Map<string, string>();
  return messages.flatMap(({ segment, offset }): Finding[] => {
    if (!begun.has(segment)) {
      begun.add(segment);
      for (const ancestor of ancestors.get(segment) ?? []) closed.set(ancestor, segment);
    }
    const successor = closed.get(segment);
    return successor === undefined
      ? []
      : [{ fault: 'lineage-order', what: `${reader}: ${segment}:${offset} behind the first of ${successor}` }];
  });
}

/**
 * Of each segment all that went before it in its own partitions: beyond a merge that was split before anything came into it, those
 * of others are nothing to it.
 */
function ancestorsOf(segments: readonly Descent[]): ReadonlyMap<string, readonly string[]> {
  const byId = new Map(segments.map((segment) => [segment.segment, segment]));
  const all = new Map<string, ReadonlySet<string>>();
  for (const { segment, predecessors } of segments) {
    all.set(segment, new Set(predecessors.flatMap((parent) => [parent, ...(all.get(parent) ?? [])])));
  }
  const overlaps = (one: Descent, id: string): boolean => {
    const other = byId.get(id);
    return other !== undefined && one.lo <= other.hi && other.lo <= one.hi;
  };
  return new Map(segments.map((segment) => [segment.segment, [...(all.get(segment.segment) ?? [])].filter((id) => overlaps(segment, id))]));
}
