import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Upload } from '../../src/model/upload.ts';
import { SUBMITTING_MS_MAX, SWEPT_BEHIND_MS, UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { isBehind, planUpload, withAttemptEnded, expired } from '../../src/reference/plan-upload.ts';
import { arbitraryUpload } from '../format/arbitrary-upload.ts';

// What becomes of an upload, whatever it is and whenever a sweep looks at it.

const MINUTE_MS = 60_000;
const around = (upload: Upload) => fc.integer({ min: -2 * UPLOAD_MS, max: 3 * UPLOAD_MS }).map((ms) => Math.max(0, upload.expiresMs + ms));
const uploadAndTime = (...states: Upload['state'][]) =>
  arbitraryUpload(...states).chain((upload) => fc.tuple(fc.constant(upload), around(upload)));
/** Of an entry in which the attempt has landed; undefined: it never lands. */
const landing = fc.option(fc.nat(), { nil: undefined });
const bare = ({ upload, bytes, sha256, contentType, createdMs, expiresMs }: Upload) => ({
  upload,
  bytes,
  sha256,
  contentType,
  createdMs,
  expiresMs,
});

test('an upload that is in time, or whose attempt is new, is left alone', () => {
  fc.assert(
    fc.property(uploadAndTime(), ([upload, nowMs]) => {
      const startedMs = Number(upload.attempt?.minute) * MINUTE_MS;
      const inTime =
        (upload.state === 'staged' && nowMs < upload.expiresMs) ||
        (upload.state === 'submitting' && nowMs < Math.min(startedMs, upload.expiresMs) + SUBMITTING_MS_MAX);
      expect(planUpload(upload, nowMs) === 'leave').toBe(inTime);
    }),
  );
});

test('what was submitted is never touched but for what a check has found', () => {
  fc.assert(
    fc.property(uploadAndTime('submitted'), ([upload, nowMs]) => {
      expect(planUpload(upload, nowMs)).toBe(upload.runs !== undefined && !upload.checked ? 'check' : 'settled');
    }),
  );
});

test('only what is expired is removed, and only what nobody has submitted expires', () => {
  fc.assert(
    fc.property(uploadAndTime(), landing, ([upload, nowMs], landedAt) => {
      const plan = planUpload(upload, nowMs);
      expect(plan === 'remove').toBe(upload.state === 'expired');
      if (plan === 'expire') expect([upload.state, upload.expiresMs <= nowMs]).toEqual(['staged', true]);
      if (plan !== 'resolve') return;
      const next = withAttemptEnded(upload, landedAt, nowMs);
      const isDue = upload.expiresMs <= nowMs;
      expect(next.state).toBe(landedAt !== undefined ? 'submitted' : isDue ? 'expired' : 'staged');
      if (landedAt !== undefined) expect(next.offset).toBe(landedAt + (upload.attempt?.delta ?? 0));
    }),
  );
});

test('each step is a version further, keeps what was announced, and there are few of them', () => {
  fc.assert(
    fc.property(uploadAndTime(), landing, ([upload, nowMs], landedAt) => {
      let current = upload;
      const plans: string[] = [];
      for (let step = 0; step < 4; step += 1) {
        const plan = planUpload(current, nowMs);
        plans.push(plan);
        if (plan !== 'expire' && plan !== 'resolve') break;
        const next = plan === 'expire' ? expired(current) : withAttemptEnded(current, landedAt, nowMs);
        expect(next.version).toBe(current.version + 1);
        expect(bare(next)).toEqual(bare(upload));
        current = next;
      }
      expect(['leave', 'remove', 'check', 'settled']).toContain(plans.at(-1));
    }),
  );
});

test('an attempt that never lands leaves nothing of itself behind', () => {
  fc.assert(
    fc.property(arbitraryUpload('submitting'), (upload) => {
      const staged = withAttemptEnded(upload, undefined, upload.expiresMs - 1);
      expect(staged).toEqual({ ...bare(upload), state: 'staged', version: upload.version + 1, checked: false, quarantined: [] });
    }),
  );
});

test('one is behind for good a day after it could expire, if it was settled', () => {
  fc.assert(
    fc.property(uploadAndTime(), ([upload, nowMs]) => {
      const isSettled = upload.state === 'submitted' && (upload.runs === undefined || upload.checked);
      expect(isBehind(upload, nowMs)).toBe(isSettled && upload.expiresMs + SWEPT_BEHIND_MS <= nowMs);
    }),
  );
});
