/** A scope, how large it is in CI and in `npm run model`, and the limits that make it deep. Plain data. */
export type Search = {
  readonly name: string;
  readonly rows: string;
  /** File below scopes, and the function that builds it. */
  readonly file: string;
  readonly scope: string;
  readonly small: Size;
  readonly large: readonly Size[];
  readonly limits?: Readonly<Record<string, number>>;
};
export type Size = Readonly<Record<string, number | boolean>>;

/** Budgets that end loops: what they answer at their end must be true as well. */
export const LIMITS: Readonly<Record<string, number>> = {
  COMMIT_ATTEMPTS_MAX: 4,
  COMMIT_IDS_MAX: 2,
  WRITE_ATTEMPTS_MAX: 2,
  HEAD_ENTRIES_MAX: 2,
  MOVES_MAX: 3,
  READ_ATTEMPTS_MAX: 3,
  CHANGE_ATTEMPTS_MAX: 3,
};

export const searches: readonly Search[] = [
  {
    name: 'spillRace',
    rows: 'A1, A2',
    file: 'commit',
    scope: 'spillRace',
    small: { spillers: 2, rounds: 2, leftover: true, unanswered: 1, late: 1 },
    large: [
      { spillers: 3, rounds: 2, leftover: false, unanswered: 1, late: 2 },
      { spillers: 3, rounds: 2, leftover: true, unanswered: 1, late: 2 },
    ],
    limits: { HEAD_ENTRIES_MAX: 4 },
  },
  {
    name: 'publishAndSpill',
    rows: 'A2, A4, W1, F27',
    file: 'commit',
    scope: 'publishAndSpill',
    small: { publishers: 2, spillers: 1, rounds: 2, unanswered: 2, late: 2 },
    large: [{ publishers: 3, spillers: 1, rounds: 2, unanswered: 2, late: 2 }],
  },
  {
    name: 'publishFull',
    rows: 'A4',
    file: 'commit',
    scope: 'publishAndSpill',
    small: { publishers: 1, spillers: 1, rounds: 2, unanswered: 2, late: 2, full: true },
    large: [{ publishers: 2, spillers: 2, rounds: 2, unanswered: 1, late: 2, full: true }],
  },
  {
    name: 'sameClock',
    rows: 'A3',
    file: 'commit',
    scope: 'publishAndSpill',
    small: { publishers: 2, spillers: 1, rounds: 1, unanswered: 2, late: 2, sameClock: true },
    large: [{ publishers: 3, spillers: 1, rounds: 2, unanswered: 2, late: 2, sameClock: true }],
  },
  {
    name: 'readAndSpill',
    rows: 'A4 (readers)',
    file: 'commit',
    scope: 'readAndSpill',
    small: { readers: 1, rounds: 2, messagesMax: 5, unanswered: 0, late: 1 },
    large: [{ readers: 2, rounds: 2, messagesMax: 1, unanswered: 1, late: 1 }],
    limits: { HEAD_ENTRIES_MAX: 4 },
  },
  {
    name: 'matchTail',
    rows: 'A8, K1',
    file: 'commit',
    scope: 'matchTail',
    small: { others: 1, spillers: 1, rounds: 1, expected: 1, before: 0, unanswered: 2, late: 2 },
    large: [{ others: 2, spillers: 2, rounds: 1, expected: 1, before: 0, unanswered: 2, late: 2 }],
  },
  {
    name: 'matchTailFull',
    rows: 'A8, K1, on a full head',
    file: 'commit',
    scope: 'matchTail',
    small: { others: 1, spillers: 0, rounds: 0, expected: 3, before: 2, unanswered: 1, late: 1 },
    large: [{ others: 2, spillers: 1, rounds: 1, expected: 3, before: 2, unanswered: 1, late: 2 }],
  },
  {
    name: 'variants',
    rows: 'A7, A8',
    file: 'lines',
    scope: 'variants',
    small: { spillers: 1, unanswered: 2, late: 2 },
    large: [{ spillers: 2, unanswered: 2, late: 2 }],
  },
  {
    name: 'variantsTwice',
    rows: 'A8',
    file: 'lines',
    scope: 'variants',
    small: { spillers: 0, unanswered: 1, late: 1, twice: true, seals: true },
    large: [
      { spillers: 1, unanswered: 2, late: 2, twice: true, seals: true },
      { spillers: 1, unanswered: 2, late: 2, twice: true, later: true },
    ],
  },
  {
    name: 'evictions',
    rows: 'P2',
    file: 'lines',
    scope: 'evictions',
    small: { begun: false, known: true, others: 1, later: true, unanswered: 1, late: 1 },
    large: [{ begun: false, known: false, others: 2, later: true, unanswered: 1, late: 2 }],
    limits: { HEAD_LINES_MAX: 1, HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'evictionsBegun',
    rows: 'P3',
    file: 'lines',
    scope: 'evictions',
    small: { begun: true, known: false, others: 2, later: false, unanswered: 0, late: 1 },
    large: [{ begun: true, known: false, others: 2, later: true, unanswered: 1, late: 2 }],
    limits: { HEAD_LINES_MAX: 1, HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'lineEnds',
    rows: 'P1',
    file: 'lines',
    scope: 'lineEnds',
    small: { unanswered: 1, late: 2 },
    large: [{ unanswered: 2, late: 2 }],
    limits: { HEAD_ENTRIES_MAX: 8 },
  },
  {
    name: 'sealedUnderfoot',
    rows: 'A6',
    file: 'requests',
    scope: 'sealedUnderfoot',
    small: { sealers: 1, spillers: 1, both: false, unanswered: 2, late: 2 },
    large: [{ sealers: 1, spillers: 1, both: true, unanswered: 1, late: 1 }],
  },
  {
    name: 'idempotent',
    rows: 'I1',
    file: 'requests',
    scope: 'idempotent',
    small: { handlers: 2, spillers: 1, others: 1, sealers: 0, unanswered: 1, late: 1 },
    large: [{ handlers: 2, spillers: 1, others: 1, sealers: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'idempotentTail',
    rows: 'K1, K2',
    file: 'requests',
    scope: 'idempotent',
    small: { handlers: 2, spillers: 0, others: 1, sealers: 0, expected: 1, unanswered: 0, late: 0 },
    large: [{ handlers: 2, spillers: 1, others: 2, sealers: 0, expected: 1, unanswered: 2, late: 1 }],
    limits: { MOVES_MAX: 1 },
  },
  {
    name: 'recorded',
    rows: 'I1',
    file: 'requests',
    scope: 'recorded',
    small: { unanswered: 2, late: 2 },
    large: [{ unanswered: 2, late: 2 }],
  },
  {
    name: 'changes',
    rows: 'T1, T2',
    file: 'topics',
    scope: 'changes',
    small: { carriers: 0, publishers: 0, unanswered: 1, late: 1 },
    large: [{ carriers: 1, publishers: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'childOpens',
    rows: 'T3',
    file: 'topics',
    scope: 'childOpens',
    small: { parents: 2, carriers: 0, unanswered: 1, late: 1 },
    large: [{ parents: 2, carriers: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'deletion',
    rows: 'T4',
    file: 'topics',
    scope: 'deletion',
    small: { carriers: 1, deleters: 1, unanswered: 0, late: 1 },
    large: [{ carriers: 2, deleters: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'creation',
    rows: 'creation (F30)',
    file: 'topics',
    scope: 'creation',
    small: { creators: 2, deleters: 0, unanswered: 1, late: 1 },
    large: [{ creators: 2, deleters: 1, unanswered: 1, late: 1 }],
  },
  {
    name: 'splitAndMerged',
    rows: 'C1',
    file: 'lineage',
    scope: 'splitAndMerged',
    small: { readers: 2, pages: 6, publishes: false, empty: false, unanswered: 0, late: 0 },
    large: [{ readers: 2, pages: 7, publishes: true, empty: true, unanswered: 0, late: 0 }],
  },
  {
    name: 'readThroughSeal',
    rows: 'C1',
    file: 'lineage',
    scope: 'readThroughSeal',
    small: { pages: 3, unanswered: 0, late: 0 },
    large: [{ pages: 4, unanswered: 1, late: 1 }],
  },
  {
    name: 'latest',
    rows: 'C2',
    file: 'lineage',
    scope: 'latest',
    small: { pages: 2, unanswered: 1, late: 1 },
    large: [{ pages: 2, unanswered: 1, late: 1 }],
  },
];
