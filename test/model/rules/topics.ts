import { type Rule } from './rule.ts';

// Topology changes: creation, deletion, replacement by one child or by two.

export const topicRules: readonly Rule[] = [
  {
    row: 'T1',
    without: "every write of the topic item demands its version, and children's ids come from its counter",
    patches: [
      {
        file: 'topology/apply-change.ts',
        from: "const condition = [{ op: '=' as const, path: ['version'], value: from.version }];",
        to: 'const condition = [];',
      },
    ],
    search: 'changes',
    faults: ['lineage'],
  },
  {
    row: 'T1 splits',
    without: 'of two splits at once, the second one takes its ids from the counter that the first one has raised',
    patches: [
      {
        file: 'topology/apply-change.ts',
        from: "const condition = [{ op: '=' as const, path: ['version'], value: from.version }];",
        to: 'const condition = [];',
      },
    ],
    search: 'splits',
    faults: ['lineage'],
  },
  {
    row: 'T1 splits, all ids',
    without: 'the counter goes on by all children of a split',
    patches: [
      {
        file: 'topology/plan-change.ts',
        from: 'nextSegment: topic.nextSegment + children.length,',
        to: 'nextSegment: topic.nextSegment + 1,',
      },
    ],
    search: 'splits',
    faults: ['lineage'],
  },
  {
    row: 'T2',
    without: 'the new list is published on the version read',
    patches: [
      {
        file: 'topology/apply-change.ts',
        from: 'const written = await writeTopic(deps, current, next, signal);',
        to: 'const written = await deps.table.put(topicKey(topic.id), encodeTopic(next), [], signal).then(() => next);',
      },
    ],
    search: 'changes',
    faults: ['stale-list'],
  },
  {
    row: 'T2 splits',
    without: 'a split publishes all of its children',
    patches: [
      {
        file: 'topology/plan-change.ts',
        from: 'const children = pending.flatMap((change) => change.children).map(',
        to: 'const children = pending.flatMap((change) => change.children.slice(0, 1)).map(',
      },
    ],
    search: 'splits',
    faults: ['tiling'],
  },
  {
    row: 'T3',
    without: 'children are pending at first',
    patches: [{ file: 'format/head-item.ts', from: "state: 'pending',", to: "state: 'open'," }],
    search: 'childOpens',
    faults: ['order'],
  },
  {
    row: 'T3 order',
    without: 'no child opens before every parent is sealed',
    patches: [
      {
        file: 'topology/apply-change.ts',
        from: 'const sealed = await inParallel(change.parents,',
        to: 'await inParallel(change.children, CHANGE_PARALLEL_MAX, (child) => openChild(deps, topic, child, signal));\n  const sealed = await inParallel(change.parents,',
      },
    ],
    search: 'childOpens',
    faults: ['order'],
  },
  {
    row: 'T4',
    without: 'heads live on, sealed, when their topic is deleted',
    patches: [
      {
        file: 'topics/delete-topic.ts',
        from: 'await freeName(deps, topic, signal);',
        to: `await freeName(deps, topic, signal);
          await deps.table.delete({ pk: 'h#' + topic.id + '#s0000000', sk: 'head' }, [], signal);`,
      },
    ],
    search: 'deletion',
    faults: ['open-after-deletion'],
  },
];
