import fc from 'fast-check';
import { TIMESTAMP_MS_MAX } from '../../src/model/limits.ts';
import type { Message } from '../../src/model/message.ts';

const bytes = fc.uint8Array({ maxLength: 200 });

/** Messages of all shapes: tombstones, empty keys and values, repeated and empty headers, headers without value, any time. */
export const arbitraryMessage: fc.Arbitrary<Message> = fc.record({
  key: fc.uint8Array({ maxLength: 40 }),
  value: fc.option(bytes, { nil: null }),
  headers: fc.array(
    fc.record({
      name: fc.oneof(fc.constantFrom('', 'a', 'A', '__proto__', 'größe'), fc.string({ unit: 'grapheme', maxLength: 40 })),
      value: fc.option(bytes, { nil: null }),
    }),
    { maxLength: 5 },
  ),
  timestampMs: fc.oneof(fc.integer({ min: 0, max: TIMESTAMP_MS_MAX }), fc.constantFrom(0, 1, TIMESTAMP_MS_MAX), fc.nat()),
});

export const arbitraryMessages = fc.array(arbitraryMessage, { minLength: 1, maxLength: 20 });
