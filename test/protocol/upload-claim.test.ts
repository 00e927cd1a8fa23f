import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../src/model/head.ts';
import type { CommitId } from '../../src/model/ids.ts';
import type { Upload, UploadAttempt } from '../../src/model/upload.ts';
import type { Fate } from '../../src/protocol/fate.ts';
import { type Claim, planClaim, planTakeOver, submitted } from '../../src/protocol/upload-claim.ts';
import { arbitraryEntryAt, arbitraryHead } from '../format/arbitrary-head.ts';
import { arbitraryUpload } from '../format/arbitrary-upload.ts';

const attempt = arbitraryUpload('submitting').map(attemptOf);
const owned = (owner: fc.Arbitrary<string>): fc.Arbitrary<UploadAttempt> =>
  fc.tuple(attempt, owner).map(([one, whose]) => ({ ...one, owner: whose }));
const ours = owned(fc.constant('us'));
const anybodys = owned(fc.constantFrom('us', 'them'));
const claim: fc.Arbitrary<Claim> = fc.record({ attempt: ours, claimedBefore: fc.boolean() });
const entry = fc.nat({ max: 1_000 }).chain(arbitraryEntryAt);
const fate: fc.Arbitrary<Fate> = fc.oneof(
  entry.map((one: Entry): Fate => ({ fate: 'landed', entry: one })),
  fc.tuple(fc.constantFrom('guard', 'sealed', 'floor'), arbitraryHead).map(([because, head]): Fate => ({ fate: 'dead', because, head })),
  arbitraryHead.map((head): Fate => ({ fate: 'open', head })),
  fc.constant<Fate>({ fate: 'unknown' }),
);
/** One that another attempt, or ours, stands in; and a time before or after its own is over. */
const there = fc.tuple(arbitraryUpload(), anybodys, fc.integer({ min: -1, max: 1 })).map(([upload, other, later]) => ({
  upload: upload.attempt === undefined ? upload : { ...upload, attempt: other },
  nowMs: upload.expiresMs + later,
}));

function attemptOf(upload: Upload): UploadAttempt {
  if (upload.attempt === undefined) throw new Error('it is being submitted');
  return upload.attempt;
}

/** What is written over an upload is its next version, and of nothing that its client has said another. */
function expectNext(upload: Upload, next: Upload): void {
  expect(next.version).toBe(upload.version + 1);
  const fixed = ({ bytes, sha256, contentType, createdMs, expiresMs }: Upload) => ({ bytes, sha256, contentType, createdMs, expiresMs });
  expect(fixed(next)).toEqual(fixed(upload));
}

test('U1: an attempt is sent only where the upload names it, and nothing is put over one of somebody else before that is looked at', () => {
  fc.assert(
    fc.property(there, claim, ({ upload, nowMs }, wish) => {
      const plan = planClaim(upload, wish, nowMs);
      const isOurs = upload.attempt?.cid === wish.attempt.cid;
      expect(plan.plan === 'held').toBe(isOurs && ['submitting', 'submitted'].includes(upload.state));
      if (plan.plan !== 'put') return;
      expectNext(upload, plan.next);
      expect(upload.state).toBe('staged');
      const isLate = upload.expiresMs <= nowMs;
      expect([plan.next.state, plan.next.attempt]).toEqual(isLate ? ['expired', undefined] : ['submitting', wish.attempt]);
    }),
  );
});

test('what is expired or submitted stays so, whoever asks', () => {
  fc.assert(
    fc.property(there, claim, ({ upload, nowMs }, wish) => {
      const { plan } = planClaim(upload, wish, nowMs);
      if (upload.state === 'expired') expect(plan).toBe('expired');
      if (upload.state === 'submitted') expect(['held', 'outdated', 'submitted']).toContain(plan);
      expect(planClaim(undefined, wish, nowMs).plan).toBe('missing');
    }),
  );
});

test('a handler of the same request that has fallen behind takes nothing from the one that goes by the newer record', () => {
  fc.assert(
    fc.property(arbitraryUpload('submitting', 'submitted'), ours, claim, (upload, other, wish) => {
      fc.pre(other.cid !== wish.attempt.cid && other.recordVersion > wish.attempt.recordVersion);
      expect(planClaim({ ...upload, attempt: other }, wish, 0).plan).toBe('outdated');
    }),
  );
});

test('an attempt that stands there is replaced once it is dead, and what has landed is told', () => {
  fc.assert(
    fc.property(arbitraryUpload('submitting'), anybodys, claim, fate, fc.boolean(), (upload, other, wish, end, isLate) => {
      const inTheWay = { upload: { ...upload, attempt: other }, attempt: other, fate: end };
      const plan = planTakeOver(inTheWay, wish, isLate ? upload.expiresMs : upload.expiresMs - 1);
      expect(plan.plan === 'put').toBe(end.fate === 'dead' || end.fate === 'landed');
      if (plan.plan !== 'put') return;
      expectNext(upload, plan.next);
      if (end.fate === 'landed') expect(plan.next).toEqual(submitted(inTheWay.upload, end.entry.offset));
      else expect([plan.next.state, plan.next.attempt]).toEqual(isLate ? ['expired', undefined] : ['submitting', wish.attempt]);
      if (end.fate === 'landed') expect([plan.next.offset, plan.next.attempt]).toEqual([end.entry.offset + other.delta, other]);
    }),
  );
});

test('of two that meet, one ends the other and the other gives way, never both and never neither; who has lost it gives up', () => {
  const two = fc.tuple(attempt, attempt).filter(([a, b]) => a.cid !== b.cid);
  fc.assert(
    fc.property(arbitraryUpload('submitting'), two, arbitraryHead, (upload, [a, b], head) => {
      const plan = (mine: UploadAttempt, other: UploadAttempt, claimedBefore: boolean) => {
        const one = { upload, attempt: { ...other, owner: 'them' }, fate: { fate: 'open', head } as const };
        return planTakeOver(one, { attempt: { ...mine, owner: 'us' }, claimedBefore }, 0);
      };
      const [older, younger] = a.cid < b.cid ? [a, b] : [b, a];
      expect(plan(younger, older, false)).toEqual({ plan: 'kill' });
      expect(plan(older, younger, false)).toEqual({ plan: 'outranked', by: younger.cid satisfies CommitId });
      expect([plan(older, younger, true).plan, plan(younger, older, true).plan]).toEqual(['lost', 'lost']);
    }),
  );
});
