import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHead } from '../../src/format/head-item.ts';
import type { Archive } from '../../src/model/archive.ts';
import type { Entry, Head, Page } from '../../src/model/head.ts';
import type { ObjectId } from '../../src/model/ids.ts';
import { nothingArchived } from '../../src/protocol/archive.ts';
import { commitUpdate } from '../../src/protocol/commit.ts';
import {
  type Fate,
  fateFromArchive,
  fateFromHead,
  fateFromPage,
  memberMask,
  memberOffsets,
  type SentCommit,
} from '../../src/protocol/fate.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { pageOf, spillUpdate } from '../../src/protocol/spill.ts';
import { applied, cid, commitOf, isApplied, MINUTE, objectOf, openHead } from './segment-state.ts';

const sent = (name: string, more: Partial<SentCommit> = {}): SentCommit => ({
  cid: cid(name),
  object: objectOf(cid(name)),
  tail: 0,
  recorded: false,
  ...more,
});

/** The walk as the product takes it, over these pages. */
function fateOf(
  attempt: SentCommit,
  head: Head,
  pages: readonly Page[],
  archive: Archive = nothingArchived(head.topic, head.segment),
): Fate {
  let step = fateFromHead(attempt, head);
  while (step.step !== 'done') {
    const { offset, walk } = step;
    const page = pages.find(({ first, next }) => first <= offset && offset < next);
    step = step.step === 'read-page' ? fateFromPage(walk, offset, page) : fateFromArchive(walk, offset, archive);
  }
  return step.fate;
}

type Log = { head: ReturnType<typeof openHead>; pages: Page[] };
const spillOnce = (log: Log): void => {
  const head = decodeHead(log.head);
  const page = pageOf(head);
  if (page === undefined) return;
  log.pages.push(page);
  log.head = applied(log.head, spillUpdate(head, page));
};

describe('from the head alone', () => {
  const landed = applied(openHead(), commitUpdate(commitOf(cid('5a'), 2)));

  test('our entry: landed', () => {
    expect(fateOf(sent('5a'), decodeHead(landed), [])).toMatchObject({ fate: 'landed', entry: { cid: cid('5a'), offset: 0 } });
  });

  test('A3: an entry of another object under our id is not ours, and keeps ours out for ever', () => {
    const foreign = sent('5a', { object: { minute: MINUTE, id: 'oother0000000000' as ObjectId } });
    expect(fateOf(foreign, decodeHead(landed), [])).toMatchObject({ fate: 'dead', because: 'guard' });
    expect(fateOf({ ...foreign, recorded: true }, decodeHead(landed), [])).toMatchObject({ fate: 'landed' });
  });

  test('absent above the guard of an open head: it may land yet', () => {
    expect(fateOf(sent('9a'), decodeHead(landed), [])).toMatchObject({ fate: 'open' });
  });

  test('absent, and for ever: sealed, killed, or below the floor', () => {
    const sealed = applied(landed, sealUpdate({ change: 'c', successors: [], deleted: false }, 9));
    expect(fateOf(sent('9a'), decodeHead(sealed), [])).toMatchObject({ fate: 'dead', because: 'sealed' });
    expect(fateOf(sent('9a'), decodeHead({ ...landed, g: cid('9a') }), [])).toMatchObject({ fate: 'dead', because: 'guard' });
    expect(fateOf(sent('9a'), decodeHead({ ...landed, f: '00000101' }), [])).toMatchObject({ fate: 'dead', because: 'floor' });
  });
});

test('W1: the walk goes on past the first page whose guard covers the id', () => {
  // 5 lands at 0 and is spilled, which lifts the guard to 5; 4, sent before, had landed behind it.
  const log: Log = { head: applied(openHead(), commitUpdate(commitOf(cid('5a')))), pages: [] };
  const withBoth = applied(log.head, commitUpdate(commitOf(cid('4a'))));
  const early = pageOf(decodeHead(log.head));
  if (early === undefined) throw new Error('no page');
  log.pages.push(early);
  log.head = applied(withBoth, spillUpdate(decodeHead(withBoth), early));
  spillOnce(log);
  expect(log.pages.map((page) => page.entries.length)).toEqual([1, 1]);
  expect(fateOf(sent('4a'), decodeHead(log.head), log.pages)).toMatchObject({ fate: 'landed', entry: { offset: 1 } });
});

test('a page that is gone proves nothing', () => {
  const log: Log = { head: applied(openHead(), commitUpdate(commitOf(cid('5a')))), pages: [] };
  spillOnce(log);
  expect(fateOf(sent('4a'), decodeHead(log.head), [])).toEqual({ fate: 'unknown' });
  expect(fateOf(sent('4a'), decodeHead(log.head), log.pages)).toMatchObject({ fate: 'dead', because: 'guard' });
});

describe('A5: behind a page that was archived', () => {
  const log: Log = { head: applied(openHead(), commitUpdate(commitOf(cid('5a')))), pages: [] };
  spillOnce(log);
  log.head = applied(log.head, commitUpdate(commitOf(cid('7a'))));
  spillOnce(log);
  const head = decodeHead(log.head);
  const left = log.pages.slice(1);
  const archive = { ...nothingArchived(head.topic, head.segment), through: 1, guard: cid('5a') };

  test('an id up to the highest archived one may be in there, or not', () => {
    expect(fateOf(sent('4a'), head, left, archive)).toEqual({ fate: 'unknown' });
    expect(fateOf(sent('5a'), head, left, archive)).toEqual({ fate: 'unknown' });
  });

  test('an id above it is looked for in what is left', () => {
    expect(fateOf(sent('7a'), head, left, archive)).toMatchObject({ fate: 'landed', entry: { offset: 1 } });
    expect(fateOf(sent('6a'), head, left, archive)).toMatchObject({ fate: 'dead', because: 'guard' });
    expect(fateOf(sent('7b'), head, [], { ...archive, through: 2, guard: cid('7a') })).toMatchObject({ fate: 'open' });
  });

  test('a hole behind what was archived proves nothing', () => {
    expect(fateOf(sent('6a', { tail: 1 }), head, [], archive)).toEqual({ fate: 'unknown' });
  });
});

test('U2: an attempt that an upload names has not landed in what was archived, and may have landed behind it under a lower id', () => {
  const alone = applied(openHead(), commitUpdate(commitOf(cid('5a'))));
  const page = pageOf(decodeHead(alone));
  if (page === undefined) throw new Error('no page');
  const both = applied(alone, commitUpdate(commitOf(cid('4a'))));
  const log: Log = { head: applied(both, spillUpdate(decodeHead(both), page)), pages: [] };
  spillOnce(log);
  const head = decodeHead(log.head);
  const archive = { ...nothingArchived(head.topic, head.segment), through: 1, guard: cid('5a') };
  expect(fateOf(sent('4a'), head, log.pages, archive)).toEqual({ fate: 'unknown' });
  expect(fateOf(sent('4a', { named: true }), head, log.pages, archive)).toMatchObject({ fate: 'landed', entry: { offset: 1 } });
  expect(fateOf(sent('3a', { named: true }), head, log.pages, archive)).toMatchObject({ fate: 'dead', because: 'guard' });
  expect(fateOf(sent('3a', { named: true }), head, [], archive)).toEqual({ fate: 'unknown' });
});

test('every id that landed is found, and every other one is not, through any commits and spills', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ commit: fc.integer({ min: 1, max: 40 }), count: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.constant('spill' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.nat({ max: 120 }), (steps, readAt) => {
      const log: Log = { head: openHead(), pages: [] };
      const landed = new Map<string, number>();
      let tailRead = 0;
      for (const [index, what] of steps.entries()) {
        if (index === readAt) tailRead = decodeHead(log.head).tail;
        if (what === 'spill') {
          spillOnce(log);
          continue;
        }
        const commit = commitUpdate(commitOf(cid(`${what.commit}a`), what.count));
        if (!isApplied(log.head, commit)) continue;
        landed.set(`${what.commit}a`, decodeHead(log.head).tail);
        log.head = applied(log.head, commit);
      }
      const head = decodeHead(log.head);
      for (let id = 1; id <= 41; id += 1) {
        const offset = landed.get(`${id}a`);
        // The tail is remembered from before the first send: of an id that landed earlier, nobody asks.
        if (offset !== undefined && offset < tailRead) continue;
        const fate = fateOf(sent(`${id}a`, { tail: tailRead }), head, log.pages);
        const expected = cid(`${id}a`) <= head.guard ? 'dead' : 'open';
        expect(fate.fate).toBe(offset === undefined ? expected : 'landed');
        expect(fate.fate === 'landed' ? fate.entry.offset : offset).toBe(offset);
      }
    }),
    { numRuns: 300 },
  );
});

const entryOf = (included: readonly boolean[], counts: readonly number[], offset: number): Entry => {
  const mask = memberMask(included);
  const runs = counts.filter((_, index) => included[index]).map((count) => ({ start: 0, bytes: 1, count }));
  return { cid: cid('5a'), offset, object: objectOf(cid('5a')), runs, highestTimestampMs: 1, ...(mask === undefined ? {} : { mask }) };
};

describe('members', () => {
  const group = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 100 })), { minLength: 1, maxLength: 256 });

  test('A7: the mask tells who is in, and where each of them begins', () => {
    fc.assert(
      fc.property(group, fc.nat(), (members, first) => {
        const included = members.map(([isIn]) => isIn);
        fc.pre(included.some(Boolean));
        const counts = members.map(([, count]) => count);
        let next = first;
        const expected = members.map(([isIn, count]) => {
          const offset = isIn ? next : undefined;
          if (isIn) next += count;
          return offset;
        });
        expect(memberOffsets(entryOf(included, counts, first), counts)).toEqual(expected);
      }),
    );
  });

  test('a full group needs no mask, any other has a bit for each member', () => {
    expect(memberMask([true, true, true])).toBeUndefined();
    expect(memberMask([true, false, true])).toEqual(new Uint8Array([0b101]));
    expect(memberMask([...Array.from({ length: 8 }, () => false), true])).toEqual(new Uint8Array([0, 1]));
  });

  test('an entry with other messages than those of its members is nobody’s', () => {
    expect(() => memberOffsets(entryOf([true, true], [2, 3], 0), [2, 4])).toThrow('does not have the messages');
  });
});
