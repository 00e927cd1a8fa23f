import { type Rule, without } from './rule.ts';

// Producers: a line in the head, in its own item, and at the end of its segment.

const COMMIT = 'protocol/commit.ts';
const BATCH = 'publish/commit-batch.ts';

/** No single number is right: each of them calls a batch a duplicate that is stored nowhere. */
const INHERITED = ['the higher', 'the lower', 'the sum'];

export const lineRules: readonly Rule[] = [
  ...INHERITED.map((number, inherits): Rule => ({
    row: 'P1 merge',
    without: `a line ends with its segment: after a merge the child's goes on with ${number} of its parents' numbers`,
    patches: [],
    search: 'linesMerge',
    size: { inherits },
    faults: ['acked-not-stored'],
  })),
  {
    row: 'P1',
    without: 'all that did not land goes first, in order: each batch opens the new line by itself',
    patches: [],
    search: 'lineEnds',
    size: { eachAlone: true },
    faults: ['acked-not-stored'],
  },
  {
    row: 'P2 evictions',
    without: 'a line that is not in the head demands the evictions as read',
    patches: [
      without(
        COMMIT,
        "if (commit.lines.some((line) => line.before === undefined)) clauses.push({ op: '=', path: ['ev'], value: commit.evictions });",
      ),
    ],
    search: 'evictions',
    faults: ['stored-twice'],
  },
  {
    row: 'P2 missing',
    without: 'a line that is not in the head demands that it still is not',
    patches: [
      {
        file: COMMIT,
        from: "if (before === undefined) clauses.push({ op: 'missing', path: ['p', producer] });",
        to: 'if (before === undefined) void 0;',
      },
    ],
    search: 'evictions',
    faults: ['stored-twice'],
  },
  {
    row: 'P2 order',
    without: "the head is read before a line's own item",
    patches: [
      {
        file: BATCH,
        from: 'const plan = await planCommit(deps, request, attempts, signal);',
        to: `const early = new Map();
          for (const { producer } of request.members) {
            const key = { pk: 'l#' + request.topic + '#' + request.segment, sk: producer?.producer };
            if (producer !== undefined) early.set(key.sk, await deps.table.get(key, signal));
          }
          see(attempts, await readHead(deps, request, signal));
          const table = { ...deps.table, get: async (key, own) => (key.pk.startsWith('l#') ? early.get(key.sk) : deps.table.get(key, own)) };
          const plan = await planCommit({ ...deps, table }, request, attempts, signal);`,
      },
    ],
    search: 'evictions',
    faults: ['stored-twice', 'false-gap'],
  },
  {
    row: 'P3 item',
    without: "a victim's own item is put only over an older one",
    patches: [{ file: 'protocol/producer-line.ts', from: "condition: [{ op: 'or', any: older }]", to: 'condition: []' }],
    search: 'evictionsBegun',
    faults: ['stored-twice', 'false-gap'],
  },
  {
    row: 'P3 victim',
    without: 'a victim is demanded as read',
    patches: [without(COMMIT, 'for (const victim of commit.victims) clauses.push(...lineAsRead(victim.producer, victim.line));')],
    search: 'evictionsBegun',
    faults: ['stored-twice', 'false-gap'],
  },
  {
    row: 'P2 epoch',
    without: 'a line is demanded with its epoch',
    patches: [without(COMMIT, "{ op: '=', path: ['p', producer, 'e'], value: line.epoch },")],
    search: 'epochs',
    faults: ['order'],
  },
  {
    row: 'P2 fence',
    without: 'an older epoch is fenced',
    patches: [{ file: 'protocol/producer-line.ts', from: 'line !== undefined && request.epoch < line.epoch', to: 'false' }],
    search: 'epochs',
    faults: ['order'],
  },
];
