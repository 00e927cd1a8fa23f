import fc from 'fast-check';
import { type Minute, minuteOf, UPLOAD_ID_RANDOM, uploadId } from '../../src/model/ids.ts';
import { UPLOAD_BYTES_MAX, UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { type Upload, UPLOAD_STATES, type UploadAttempt } from '../../src/model/upload.ts';
import { arbitraryCommitId, arbitrarySegment } from './arbitrary-head.ts';

const count = fc.integer({ min: 1, max: 10_000 });
const random = fc.nat().map((n) => n.toString(36).padStart(UPLOAD_ID_RANDOM, '0'));
const sha256 = fc.nat().map((n) => n.toString(16).padStart(64, '0'));
const runs = fc.array(fc.record({ start: fc.nat(), bytes: count, count }), { minLength: 1, maxLength: 3 });

const arbitraryAttempt = (aroundMs: number): fc.Arbitrary<UploadAttempt> =>
  fc.record({
    segment: arbitrarySegment,
    cid: arbitraryCommitId,
    tail: fc.nat(),
    minute: fc.integer({ min: -UPLOAD_MS, max: UPLOAD_MS }).map((ms): Minute => minuteOf(Math.max(0, aroundMs + ms))),
    owner: sha256,
    recordVersion: fc.nat(),
    delta: fc.nat({ max: 10_000 }),
  });

type State = Upload['state'];

/** With what its state brings: an attempt from submitting on, of a time before it expires or behind that. */
export const arbitraryUpload = (...states: readonly State[]): fc.Arbitrary<Upload> =>
  fc.integer({ min: UPLOAD_MS, max: 4_102_444_800_000 }).chain((expiresMs) =>
    fc
      .record({
        random,
        state: fc.constantFrom<State[]>(...(states.length === 0 ? UPLOAD_STATES : states)),
        version: fc.integer({ min: 1, max: 1_000 }),
        bytes: fc.integer({ min: 0, max: UPLOAD_BYTES_MAX }),
        sha256,
        contentType: fc.constantFrom('image/png', 'application/octet-stream'),
        attempt: arbitraryAttempt(expiresMs),
        runs: fc.option(runs, { nil: undefined }),
        offset: fc.nat(),
        checked: fc.boolean(),
        quarantined: fc.array(fc.record({ first: fc.nat(), count }), { maxLength: 2 }),
      })
      .map(({ random: chosen, attempt, runs: found, offset, checked, quarantined, ...rest }) => {
        const isSubmitted = rest.state === 'submitted';
        const isBatches = found !== undefined && rest.state !== 'staged';
        return {
          ...rest,
          upload: uploadId(expiresMs, chosen),
          createdMs: expiresMs - UPLOAD_MS,
          expiresMs,
          ...(rest.state === 'staged' ? {} : { attempt }),
          ...(isBatches ? { runs: found } : {}),
          ...(isSubmitted ? { offset } : {}),
          checked: isSubmitted && isBatches && checked,
          quarantined: isSubmitted && isBatches && checked ? quarantined : [],
        };
      }),
  );
