import { type Rule, without } from './rule.ts';

// The index: spills, the guard, and the walk from head to pages.

const SPILL = 'protocol/spill.ts';
const COMMIT = 'protocol/commit.ts';
const FATE = 'protocol/fate.ts';
const BATCH = 'publish/commit-batch.ts';

export const spillRules: readonly Rule[] = [
  {
    row: 'A1',
    without: 'the spill demands the spill count as read',
    patches: [without(SPILL, "{ op: '=', path: ['h'], value: head.spilled },")],
    search: 'spillRace',
    faults: ['index-hole'],
  },
  {
    row: 'A1 adopt',
    without: 'the page that is there is adopted',
    patches: [{ file: 'state/spill.ts', from: 'put.applied || put.item === undefined ? page : decodePage(put.item)', to: 'page' }],
    search: 'spillRace',
    faults: ['index-hole'],
  },
  {
    row: 'A1 absent',
    without: 'a page is put only where none is',
    patches: [{ file: SPILL, from: "[{ op: 'missing', path: ['first'] }]", to: '[]' }],
    search: 'spillRace',
    faults: ['index-hole'],
  },
  {
    row: 'A2',
    without: 'the guard is the highest of the old one and the entries',
    patches: [{ file: SPILL, from: "path: ['g'], value: highest(head.guard,", to: "path: ['g'], value: highest(''," }],
    search: 'publishAndSpill',
    faults: ['stored-twice'],
  },
  {
    row: 'A2 commit',
    without: 'a commit demands an id above the guard',
    patches: [without(COMMIT, "{ op: '<', path: ['g'], value: commit.cid },")],
    search: 'publishAndSpill',
    faults: ['stored-twice'],
  },
  {
    row: 'A2 kill',
    without: 'the spill demands the guard as read, which a kill may have raised',
    patches: [without(SPILL, "{ op: '=', path: ['g'], value: head.guard },")],
    search: 'matchTail',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'A3',
    without: "an instance's part in the commit id, and entries compared by their object",
    patches: [
      { file: 'protocol/commit-id.ts', from: 'digits(timeMs, TIME_DIGITS) + instance', to: "digits(timeMs, TIME_DIGITS) + 'xxxxxxxx'" },
      { file: FATE, from: 'sent.recorded || sameObject(entry.object, sent.object)', to: 'true' },
    ],
    search: 'sameClock',
    faults: ['acked-not-stored'],
  },
  {
    row: 'A4 order',
    without: 'the head is read before the pages, and a hole proves nothing',
    patches: [
      {
        file: 'state/find-fate.ts',
        from: 'let step = fateFromHead(sent, head);',
        to: `const early = (await deps.table.query({ pk: 'p#' + head.topic + '#' + head.segment, limit: 99 }, signal)).items;
          const later = await import('../format/head-item.ts').then(async ({ decodeHead }) => decodeHead(await deps.table.get({ pk: 'h#' + head.topic + '#' + head.segment, sk: 'head' }, signal)));
          const { decodePage } = await import('../format/page-item.ts');
          let step = fateFromHead(sent, later);`,
      },
      {
        file: 'state/find-fate.ts',
        from: 'await readPageAt(deps.table, head, offset, signal)',
        to: 'early.map(decodePage).find((page) => page.first <= offset && offset < page.next)',
      },
      {
        file: FATE,
        from: "if (page === undefined) return { step: 'read-archive', offset, walk };",
        to: 'if (page === undefined) return done(absent(walk.sent, walk.head));',
      },
    ],
    search: 'publishAndSpill',
    faults: ['stored-twice'],
  },
  {
    row: 'A4 one read',
    without: 'guard and entries are of one read of the head',
    patches: [
      {
        file: BATCH,
        from: 'const fate = await findFate(deps, sent, head, signal);',
        to: 'const { guard } = await readHead(deps, request, signal); const fate = await findFate(deps, sent, { ...head, guard }, signal);',
      },
    ],
    search: 'publishFull',
    faults: ['stored-twice'],
  },
  {
    row: 'A4 reader',
    without: 'a reader looks at the head before the pages, for exactly the next offset',
    patches: [
      {
        file: 'consume/find-entries.ts',
        from: 'if (walk.next() >= head.spilled) walk.add(head.entries);',
        to: 'walk.add((await deps.heads.read(head.topic, head.segment, signal)).entries);',
      },
      without('consume/find-entries.ts', 'if (taken.length === 0 ? entry.offset > next : entry.offset !== next) return;'),
    ],
    search: 'readAndSpill',
    faults: ['skip'],
  },
  {
    row: 'W1 walk',
    without: 'the walk goes on behind the first page whose guard covers the id',
    patches: [{ file: FATE, from: 'seenBeyond !== undefined && seenBeyond >= HEAD_ENTRIES_MAX', to: 'seenBeyond !== undefined' }],
    search: 'publishAndSpill',
    faults: ['stored-twice'],
  },
  {
    row: 'W1 tail',
    without: 'the tail is the one before the first send',
    patches: [
      {
        file: FATE,
        from: 'return nextPage({ sent, head, seenBeyond: undefined }, sent.tail);',
        to: 'return nextPage({ sent, head, seenBeyond: undefined }, head.tail);',
      },
    ],
    search: 'publishAndSpill',
    faults: ['stored-twice'],
  },
  {
    row: 'W1 size',
    without: 'a commit demands room in the head',
    patches: [without(COMMIT, "{ op: 'size<', path: ['c'], value: HEAD_ENTRIES_MAX },")],
    search: 'publishAndSpill',
    limits: { HEAD_ENTRIES_MAX: 1 },
    faults: ['stored-twice'],
  },
];
