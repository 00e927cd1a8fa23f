import { type Rule } from './rule.ts';

// Topology changes, as far as creation, deletion and replacement by one child go.

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
