import { type Rule, without } from './rule.ts';

// The fate of a commit: what may still land is not answered, and what was sealed moves only once it is known.

const COMMIT = 'protocol/commit.ts';
const BATCH = 'publish/commit-batch.ts';

export const fateRules: readonly Rule[] = [
  {
    row: 'A6',
    without: 'after a seal the fate is found before the messages move',
    patches: [
      {
        file: BATCH,
        from: 'const fate = await findFate(deps, sent, head, signal);',
        to: `if (head.state === 'sealed') return refusedOutcome(deps, request, { head, judged: { verdicts: [], lines: new Map() } }, signal);
          const fate = await findFate(deps, sent, head, signal);`,
      },
    ],
    search: 'sealedUnderfoot',
    faults: ['stored-twice'],
  },
  {
    row: 'A7 new id',
    without: 'a group is tried again under the same id until that is dead',
    patches: [
      {
        file: BATCH,
        from: "if (request.matchTail === undefined || head.tail === request.matchTail) return 'again';",
        to: "return { outcome: 'dead', because: 'guard', head };",
      },
      {
        file: BATCH,
        from: "entry that may be in it.\n    return 'again';",
        to: "\n    return { outcome: 'dead', because: 'guard', head: attempts.head };",
      },
    ],
    search: 'publishFull',
    faults: ['stored-twice'],
  },
  {
    row: 'A7 throttled',
    without: 'an id of which an attempt was left unanswered is kept, though a later one is throttled',
    patches: [{ file: BATCH, from: 'if (!inFlight && sent.cid <= head.guard)', to: 'if (sent.cid <= head.guard)' }],
    search: 'giveUp',
    faults: ['stored-twice'],
  },
  {
    row: 'A7 mask',
    without: 'offsets come from the mask of the entry that was found',
    patches: [
      {
        file: 'publish/commit-outcome.ts',
        from: 'const offsets = memberOffsets(\n    landed.entry,\n',
        to: `let assumed = landed.entry.offset;
          const offsets = request.members.map((member, index) => {
            if (landed.judged.verdicts[index]?.verdict !== 'next') return undefined;
            assumed += member.count;
            return assumed - member.count;
          });
          void [].concat(`,
      },
    ],
    search: 'variants',
    faults: ['wrong-offset'],
  },
  {
    row: 'A8',
    without: 'an attempt that was left unanswered may land yet',
    patches: [without(BATCH, "if (!(error instanceof KelpError) || error.kind === 'indefinite') attempts.inFlight = true;")],
    search: 'matchTail',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'A8 fate',
    without: 'a refusal is judged by a head whose entries were looked at',
    patches: [
      {
        file: BATCH,
        from: 'must not be held against an entry that may be in it.\n    return',
        to: '\n    void',
      },
    ],
    search: 'matchTailFull',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'A8 alone',
    without: 'a member that was left out is judged by its line as read, without its mates',
    patches: [
      {
        file: 'publish/plan-commit.ts',
        from: 'const verdicts = request.members.map((member) => judgeMember(member, lines));',
        to: "const { verdicts } = planVariant(request.members.map(({ count, producer }) => ({ count, producer })), lines, 'x');",
      },
    ],
    search: 'variantsTwice',
    faults: ['acked-not-stored'],
  },
  {
    row: 'K1',
    without: 'an id that may land yet is killed before its request is refused',
    patches: [{ file: BATCH, from: 'if (!attempts.inFlight || passed) return', to: 'if (true) return' }],
    search: 'matchTail',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'K1 kill',
    without: 'a kill that was refused sends back to the fate',
    patches: [{ file: BATCH, from: 'if (killed) return', to: 'if (true) return' }],
    search: 'matchTail',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'K1 landed',
    without: 'a kill demands that the id has not landed',
    patches: [without(COMMIT, "{ op: 'missing', path: ['c', cid] },")],
    search: 'matchTail',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'K2',
    without: "a recorded id may be in another handler's attempt",
    patches: [{ file: BATCH, from: 'inFlight: sent.recorded', to: 'inFlight: false' }],
    search: 'idempotentTail',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'seal',
    without: 'a commit demands an open segment',
    patches: [without(COMMIT, "{ op: '=', path: ['state'], value: 'open' },")],
    search: 'sealedUnderfoot',
    faults: ['sealed-changed'],
  },
  {
    row: 'A8 applied',
    without: 'a commit that was applied is remembered, though the way to its answer fails',
    patches: [{ file: BATCH, from: 'attempts.inFlight = true;\n  const entry', to: 'const entry' }],
    search: 'giveUpLine',
    size: { spillers: 1, twice: false },
    faults: ['refused-yet-stored'],
  },
  {
    row: 'A8 abort',
    without: 'a budget that ends with an attempt unanswered ends as unknown',
    patches: [{ file: BATCH, from: 'if (inFlight) return new', to: 'if (false) return new' }],
    search: 'giveUp',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'floor',
    without: 'an object behind the floor is uploaded anew under a new id only once its own is dead',
    patches: [{ file: 'protocol/fate.ts', from: 'sent.object.minute < head.floor', to: "head.floor === ''" }],
    search: 'floors',
    faults: ['stored-twice'],
  },
];
