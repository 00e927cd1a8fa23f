import { type Rule, without } from './rule.ts';

// Messages that leave the index: records, files, and what may still be believed of pages.

const ARCHIVE = 'protocol/archive.ts';
const FATE = 'protocol/fate.ts';

export const archiveRules: readonly Rule[] = [
  {
    row: 'A5 hole',
    without: 'a page that is gone proves nothing: what was archived is read, after the pages',
    patches: [
      {
        file: FATE,
        from: "if (page === undefined) return { step: 'read-archive', offset, walk };",
        to: 'if (page === undefined) return done(absent(walk.sent, walk.head));',
      },
    ],
    search: 'publishAndArchive',
    faults: ['stored-twice'],
  },
  {
    row: 'A5 guard',
    without: 'the highest archived id is raised with what was archived',
    patches: [without(ARCHIVE, "{ op: 'set', path: ['ga'], value: guard },")],
    search: 'publishAndArchive',
    faults: ['stored-twice'],
  },
  {
    row: 'A5 unknown',
    without: 'nobody knows of an id at or below the highest archived one whether it was archived',
    patches: [{ file: FATE, from: 'walk.sent.cid <= guard && walk.sent.named !== true', to: 'false' }],
    search: 'publishAndArchive',
    faults: ['stored-twice'],
  },
  {
    row: 'R1 absent',
    without: 'a record is put only where none is',
    patches: [{ file: ARCHIVE, from: "[{ op: 'missing', path: ['last'] }]", to: '[]' }],
    search: 'archivers',
    faults: ['glob-twice'],
  },
  {
    row: 'R1 first',
    without: 'a record is taken over only where the last one ended',
    patches: [{ file: ARCHIVE, from: "[{ op: '=', path: ['ah'], value: first }]", to: "[{ op: 'exists', path: ['ah'] }]" }],
    search: 'archivers',
    size: { archivers: 1, rounds: 2, fileBytesMax: 1 },
    faults: ['archive-back'],
  },
  {
    row: 'R1 kept',
    without: 'records are kept',
    patches: [
      {
        file: 'state/archives.ts',
        from: 'return updateArchive(deps, place, raiseThroughUpdate(record), signal);',
        to: `const raised = await updateArchive(deps, place, raiseThroughUpdate(record), signal);
          await deps.table.delete(fileRecordKey(place.topic, place.segment, record.first), [], signal);
          return raised;`,
      },
    ],
    search: 'archivers',
    faults: ['glob-twice'],
  },
  {
    row: 'R1 through',
    without: 'the start never passes what was archived: what is not goes by dropped records',
    patches: [
      { file: 'archive/retention/advance-start.ts', from: 'while (archive.through < to && archive.start < to) {', to: 'while (false) {' },
      without(ARCHIVE, "{ op: '>=', path: ['ah'], value: start },"),
    ],
    search: 'droppers',
    faults: ['archive-back'],
  },
  {
    row: 'R1 written',
    without: 'of a record that was dropped no file is written',
    patches: [
      {
        file: ARCHIVE,
        from: "condition: [{ op: '=', path: ['state'], value: 'planned' }],\n    changes: [\n      { op: 'set', path: ['state'], value: 'written' },",
        to: "condition: [{ op: 'exists', path: ['state'] }],\n    changes: [\n      { op: 'set', path: ['state'], value: 'written' },",
      },
    ],
    search: 'droppers',
    faults: ['record-changed'],
  },
  {
    row: 'R1 dropped',
    without: 'a record whose file was written is not dropped',
    patches: [
      {
        file: ARCHIVE,
        from: "condition: [{ op: '=', path: ['state'], value: 'planned' }],\n    changes: [\n      { op: 'set', path: ['state'], value: 'dropped' },",
        to: "condition: [{ op: 'exists', path: ['state'] }],\n    changes: [\n      { op: 'set', path: ['state'], value: 'dropped' },",
      },
    ],
    search: 'droppers',
    faults: ['archive-hole'],
  },
  {
    row: 'R1 together',
    without: 'a dropped record takes the start along',
    patches: [without(ARCHIVE, "...(gone ? [{ op: 'set' as const, path: ['start'], value: next }] : []),")],
    search: 'droppers',
    faults: ['archive-hole'],
  },
  {
    row: 'R1 as stored',
    without: 'a record is taken over as it is stored',
    patches: [
      {
        file: 'archive/archive-segment.ts',
        from: 'await raiseThrough(deps, address, record, signal);',
        to: "await raiseThrough(deps, address, { ...record, state: 'written' }, signal);",
      },
    ],
    search: 'droppers',
    faults: ['archive-hole'],
  },
  {
    row: 'A5 raised',
    without: 'pages go only once their end was raised over, not merely their record written',
    patches: [
      { file: 'garbage/retired-through.ts', from: 'let end = through; end > 0;', to: 'let end = 9; end > 0;' },
      { file: 'garbage/retired-through.ts', from: 'last < through && atMs <= beforeMs', to: 'atMs <= beforeMs' },
      { file: 'garbage/retire-pages.ts', from: 'to: pageSortKey(through) };', to: 'to: pageSortKey(9) };' },
    ],
    search: 'archivers',
    size: { sweepers: 1 },
    faults: ['index-hole'],
  },
  {
    row: 'R2 end',
    without: 'pages go by their end: a file may end within one',
    patches: [{ file: 'garbage/retire-pages.ts', from: 'page.next <= through', to: 'page.first < through' }],
    search: 'archivers',
    size: { sweepers: 1 },
    faults: ['index-hole'],
  },
  {
    row: 'R2 behind the pages',
    without: 'where a page is missing, what was archived is read after it',
    patches: [without('consume/find-entries.ts', 'deps.archived.forget(head);\n    ')],
    search: 'readArchived',
    faults: ['unreadable'],
  },
  {
    row: 'A9 void',
    without: 'a page below what was archived is believed no longer than its objects are there',
    patches: [without('consume/read-from.ts', 'deps.archived.forget(head);\n    ')],
    search: 'readArchived',
    faults: ['unreadable'],
  },
  {
    row: 'A9 settled',
    without: 'only what has left the head is archived',
    patches: [{ file: 'archive/plan-next.ts', from: '  await spillThrough(deps, head, plan.next, signal);\n', to: '' }],
    search: 'publishAndArchive',
    faults: ['unsettled'],
  },
  {
    row: 'A9 settled, dropped',
    without: 'only what has left the head is dropped',
    patches: [{ file: 'archive/retention/advance-start.ts', from: 'return spillThrough(deps, head, to, signal);', to: 'return head;' }],
    search: 'droppers',
    size: { spilled: false },
    faults: ['unsettled'],
  },
  {
    row: 'U2',
    without: 'uploads that have landed are submitted before their entries are archived',
    patches: [without('archive/archive-segment.ts', '  await deps.settleSubmitting(topic, { segment, last: record.last }, signal);\n')],
    search: 'archivedUploads',
    faults: ['payload-lost'],
  },
  {
    row: 'U2 dropped',
    without: 'uploads that have landed are submitted before their entries are dropped',
    patches: [
      without('archive/retention/advance-start.ts', '  await deps.settleSubmitting(topic, { segment, last: record.last }, signal);\n'),
    ],
    search: 'droppedUploads',
    faults: ['payload-lost'],
  },
  {
    row: 'U2 before',
    without: 'and not afterwards',
    patches: [
      without('archive/archive-segment.ts', '  await deps.settleSubmitting(topic, { segment, last: record.last }, signal);\n'),
      {
        file: 'archive/archive-segment.ts',
        from: '  await raiseThrough(deps, address, record, signal);\n',
        to: `  await raiseThrough(deps, address, record, signal);
          await deps.settleSubmitting(topic, { segment, last: record.last }, signal);\n`,
      },
    ],
    search: 'archivedUploads',
    faults: ['payload-lost'],
  },
  {
    row: 'U2 tail',
    without: 'all of those that may lie below',
    patches: [{ file: 'reference/settle-submitting.ts', from: 'attempt.tail <= last', to: 'attempt.tail < last' }],
    search: 'archivedUploads',
    faults: ['payload-lost'],
  },
];
