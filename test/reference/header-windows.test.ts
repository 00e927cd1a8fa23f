import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BATCH_HEADER_BYTES } from '../../src/format/record-batch-header.ts';
import { HEADERS_WINDOW_BYTES_MAX, UPLOAD_HEADERS_GAP_BYTES_MAX } from '../../src/model/upload-limits.ts';
import { headerWindows } from '../../src/reference/header-windows.ts';

const sizes = fc.array(fc.oneof(fc.integer({ min: 61, max: 500 }), fc.integer({ min: 61, max: 200_000 })), { maxLength: 200 });

test('every header is in one window, in order, and no window reads more than it may', () => {
  fc.assert(
    fc.property(sizes, (all) => {
      let end = 0;
      const batches = all.map((bytes) => ({ start: (end += bytes) - bytes }));
      const windows = headerWindows(batches);
      expect(windows.flatMap(({ first, count }) => Array.from({ length: count }, (_, at) => first + at))).toEqual(all.map((_, at) => at));
      for (const { start, bytes, first, count } of windows) {
        const [head, last] = [batches[first], batches[first + count - 1]];
        expect([start, start + bytes]).toEqual([head?.start, (last?.start ?? 0) + BATCH_HEADER_BYTES]);
        expect(bytes).toBeLessThanOrEqual(HEADERS_WINDOW_BYTES_MAX);
      }
      // Windows are apart because one would read too much.
      for (const [at, window] of windows.slice(1).entries()) {
        const before = windows[at];
        const gap = window.start - (before?.start ?? 0) - (before?.bytes ?? 0);
        const together = window.start + BATCH_HEADER_BYTES - (before?.start ?? 0);
        expect(gap > UPLOAD_HEADERS_GAP_BYTES_MAX || together > HEADERS_WINDOW_BYTES_MAX).toBe(true);
      }
    }),
  );
});
