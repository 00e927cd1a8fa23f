import { type Rule } from './rule.ts';

// Requests with an Idempotency-Key.

const FATE = 'protocol/fate.ts';
const DEDUPLICATE = 'publish/deduplicate.ts';

export const requestRules: readonly Rule[] = [
  {
    row: 'I1 alone',
    without: "an Idempotency-Key's request is a group of its own (and an entry is checked against its members)",
    patches: [{ file: FATE, from: 'if (offset !== entry.offset + entryCount(entry)) throw', to: 'if (false) throw' }],
    search: 'recorded',
    size: { mates: true },
    faults: ['acked-not-stored'],
  },
  {
    row: 'I1 version',
    without: "attempts are replaced on the item's version",
    patches: [{ file: 'publish/request-record.ts', from: "[{ op: '=', path: ['version'], value: record.version - 1 }]", to: '[]' }],
    search: 'idempotent',
    faults: ['stored-twice'],
  },
  {
    row: 'I1 dead',
    without: 'an attempt is replaced only once it is dead',
    patches: [{ file: DEDUPLICATE, from: "case 'failed':", to: "case 'never':" }],
    search: 'idempotent',
    limits: { COMMIT_ATTEMPTS_MAX: 1 },
    faults: ['stored-twice'],
  },
  {
    row: 'I1 object',
    without: 'the entry under a recorded id is ours whatever object it names',
    patches: [{ file: FATE, from: 'sent.recorded || sameObject', to: 'sameObject' }],
    search: 'idempotent',
    faults: ['stored-twice'],
  },
];
