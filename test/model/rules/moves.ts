import type { Rule } from './rule.ts';

// Fail-over, drain, and who serves a segment.

const APPLY = 'topology/apply-change.ts';
const MOVE = 'control/failover/move-segments.ts';
const FIND = 'control/failover/find-moves.ts';
const ASSIGN = 'control/assignment/assign.ts';

export const moveRules: readonly Rule[] = [
  {
    row: 'T1 batch',
    without: "a batch's write of the topic demands the version that was read",
    patches: [
      {
        file: APPLY,
        from: "const condition = [{ op: '=' as const, path: ['version'], value: from.version }];",
        to: 'const condition = [];',
      },
    ],
    search: 'movesBatch',
    size: { leaders: 2, publishers: 0, late: 0 },
    faults: ['lineage', 'assignment', 'stuck'],
  },
  {
    row: 'T2 batch',
    without: 'the new list is published on the version read',
    patches: [
      {
        file: APPLY,
        from: 'const written = await writeTopic(deps, current, next, signal);',
        to: 'const written = await deps.table.put(topicKey(topic.id), encodeTopic(next), [], signal).then(() => next);',
      },
    ],
    search: 'movesBatch',
    size: { leaders: 2, apart: true, publishers: 0, late: 0 },
    faults: ['stale-list'],
  },
  {
    row: 'T1 busy',
    without: 'no change begins at a segment that a pending one touches',
    patches: [
      { file: APPLY, from: 'if (isBusy(topic, changes)) return undefined;', to: '' },
      { file: MOVE, from: 'isTouched(read, segments) ? await carryOn(deps, read.id, signal) : read', to: 'read' },
    ],
    search: 'moves',
    faults: ['stuck'],
  },
  {
    row: 'T2 pending',
    without: 'of a batch, what others have carried on and published is not published again',
    patches: [
      {
        file: 'topology/plan-change.ts',
        from: 'const pending = topic.changes.filter((change) => ids.has(change.id));',
        to: 'const pending = changes;',
      },
    ],
    search: 'movesBatch',
    faults: ['tiling', 'stale-list'],
  },
  {
    row: 'T3 move',
    without: 'a child opens only once its parent is sealed',
    patches: [
      {
        file: APPLY,
        from: 'const sealed = await inParallel(change.parents,',
        to: 'await inParallel(change.children, CHANGE_PARALLEL_MAX, (child) => openChild(deps, topic, child, signal));\n  const sealed = await inParallel(change.parents,',
      },
    ],
    search: 'movesOrder',
    faults: ['order'],
  },
  {
    row: 'F28',
    without: 'a publisher at a pending segment carries its change on',
    patches: [{ file: 'publish/commit-batch.ts', from: 'await carryOnSegment(deps, request.topic, request.segment, signal);', to: '' }],
    search: 'moves',
    faults: ['unwritable'],
  },
  {
    row: 'F28 batch',
    without: 'what a publisher carries on is done to the end',
    patches: [
      {
        file: 'topology/carry-on.ts',
        from: 'if (changes.length > 0) await applyChanges(deps, topic, changes, signal);',
        to: 'if (topic.changes.length === 1) await applyChanges(deps, topic, changes, signal);',
      },
    ],
    search: 'movesBatch',
    faults: ['unwritable'],
  },
  {
    row: 'brokers once',
    without: 'brokers are saved only where there are none',
    patches: [
      {
        file: 'protocol/segment-life.ts',
        from: "{ op: 'or', any: [[{ op: 'missing', path: ['brokers'] }], [{ op: 'size<', path: ['brokers'], value: 1 }]] },",
        to: '',
      },
    ],
    search: 'assignments',
    faults: ['brokers-changed'],
  },
  {
    row: 'served first',
    without: "a broker's list has a segment before the head says so",
    patches: [
      { file: ASSIGN, from: 'await noteServed(deps, { topic, segment }, brokers, signal);', to: '' },
      {
        file: ASSIGN,
        from: 'const now = decodeHead(result.item);',
        to: 'const now = decodeHead(result.item);\n  await noteServed(deps, { topic, segment }, now.brokers, signal);',
      },
    ],
    search: 'assignments',
    faults: ['unserved'],
  },
  {
    row: 'served first (children)',
    without: "a broker's list has a child before its head is put",
    patches: [
      { file: APPLY, from: 'await noteServed(deps, { topic: topic.id, segment: child.segment }, child.brokers ?? [], signal);', to: '' },
      {
        file: APPLY,
        from: 'const sealed = await inParallel(change.parents,',
        to: `await inParallel(change.children, 1, (child) => noteServed(deps, { topic: topic.id, segment: child.segment }, child.brokers ?? [], signal));
          const sealed = await inParallel(change.parents,`,
      },
    ],
    search: 'moves',
    faults: ['unserved'],
  },
  {
    row: 'served last',
    without: "a broker's list loses a segment only once that is sealed",
    patches: [
      {
        file: APPLY,
        from: 'const seal = sealUpdate(',
        to: `await forgetServed(deps, { topic: topic.id, segment: parent }, ['b1'] as never, signal);
          const seal = sealUpdate(`,
      },
    ],
    search: 'moves',
    faults: ['unserved'],
  },
  {
    row: 'served, rejected',
    without: 'whoever was too late takes only those out of the lists whom the head does not name',
    patches: [
      {
        file: ASSIGN,
        from: "const unused = now.state === 'sealed' ? brokers : brokers.filter((broker) => !now.brokers.includes(broker));",
        to: 'const unused = brokers;',
      },
    ],
    search: 'assignments',
    faults: ['unserved'],
  },
  {
    row: 'served, left over',
    without: 'an entry of a list means nothing only once the pending changes of its topic are done',
    patches: [{ file: FIND, from: 'await at.stopped.carryOn(entry.topic, signal);', to: '' }],
    search: 'leaving',
    faults: ['unserved'],
  },
  {
    row: 'served, undecided',
    without: 'who serves a segment is decided before an entry of a list is taken off it',
    patches: [
      { file: FIND, from: "if (head?.state === 'open' && head.brokers.length === 0) head = await assigned(deps, entry, signal);", to: '' },
      { file: FIND, from: "if (head.state === 'pending' || head.brokers.length === 0) return 'unsettled';", to: '' },
    ],
    search: 'leaving',
    faults: ['unserved'],
  },
];
