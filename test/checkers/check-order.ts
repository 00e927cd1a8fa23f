import type { Finding, Publish, Read, Seen } from './history.ts';

/** By acknowledgements alone: what was sent after an acknowledgement lies behind it in the segment. */
export function checkAcks(publishes: readonly Publish[]): Finding[] {
  const bySegment = new Map<string, { readonly publish: Publish; readonly offset: number }[]>();
  for (const publish of publishes) {
    const { address, outcome } = publish;
    if (outcome !== 'acked' || address === undefined) continue;
    const acked = bySegment.get(address.segment) ?? [];
    acked.push({ publish, offset: address.offset });
    bySegment.set(address.segment, acked);
  }
  return [...bySegment].flatMap(([segment, acked]) => {
    const inOrder = acked.toSorted((a, b) => a.offset - b.offset).map(({ publish }) => publish);
    return misplaced(inOrder).map(({ late, early }) => ({
      fault: 'nonmonotonic-send',
      what: `${segment}: ${late.id} was acknowledged before ${early.id} was sent, at a higher offset`,
    }));
  });
}

/** A key's messages are read in the order in which they were acknowledged and sent, across all segments. */
export function checkKeyOrder({ reader, messages }: Read, byId: ReadonlyMap<string, Publish>): Finding[] {
  return [...groupBy(messages, byId, ({ key }) => key)].flatMap(([key, publishes]) =>
    misplaced(publishes).map(({ late, early }) => ({
      fault: 'key-order',
      what: `${reader}: key ${key}: ${late.id} behind ${early.id}, which was sent after it had been acknowledged`,
    })),
  );
}

/** A line's messages are read in order of their sequence, without a gap, the unanswered ones too. */
export function checkLineOrder({ reader, complete, messages }: Read, byId: ReadonlyMap<string, Publish>): Finding[] {
  return [...groupBy(messages, byId, ({ line }) => line?.name)].flatMap(([line, publishes]) => {
    let next = complete ? 0 : publishes[0]?.line?.sequence;
    return publishes.flatMap(({ id, line: { sequence } = { sequence: -1 } }): Finding[] => {
      const what = `${reader}: line ${line}: ${id} has sequence ${sequence}, where ${next} comes next`;
      const inOrder = sequence === next;
      next = sequence + 1;
      return inOrder ? [] : [{ fault: 'line-order', what }];
    });
  });
}

/** Of publishes in order of offset, those that had ended before one in front of them was sent. */
function misplaced(publishes: readonly Publish[]): { late: Publish; early: Publish }[] {
  let newest: Publish | undefined;
  const found: { late: Publish; early: Publish }[] = [];
  for (const publish of publishes) {
    if (newest !== undefined && publish.outcome === 'acked' && publish.endedAt < newest.sentAt)
      found.push({ late: publish, early: newest });
    if (newest === undefined || publish.sentAt > newest.sentAt) newest = publish;
  }
  return found;
}

function groupBy(
  messages: readonly Seen[],
  byId: ReadonlyMap<string, Publish>,
  nameOf: (publish: Publish) => string | undefined,
): Map<string, Publish[]> {
  const groups = new Map<string, Publish[]>();
  for (const { id } of messages) {
    const publish = byId.get(id);
    const name = publish === undefined ? undefined : nameOf(publish);
    if (publish === undefined || name === undefined) continue;
    const group = groups.get(name) ?? [];
    group.push(publish);
    groups.set(name, group);
  }
  return groups;
}
