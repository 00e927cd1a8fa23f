import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAuthenticator } from '../../src/adapters/system/authenticator.ts';
import { type CursorState, decodeCursor, encodeCursor } from '../../src/consume/cursor.ts';
import type { Position } from '../../src/consume/lineage.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { PARTITIONS } from '../../src/model/limits.ts';
import { createTopic } from './fixture.ts';

const authenticator = createAuthenticator(['secret']);
const topic = createTopic({ firstSegment: 7 });

const positions: fc.Arbitrary<Position[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: PARTITIONS - 1 }), { maxLength: 20 })
  .chain((cuts) =>
    fc.tuple(
      fc.constant([0, ...cuts.toSorted((a, b) => a - b)]),
      fc.array(
        fc.record({
          segment: fc.option(fc.integer({ min: 0, max: 36 ** 7 - 1 }).map(segmentId), { nil: '' as const }),
          offset: fc.oneof(fc.nat(), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), fc.constant(Number.MAX_SAFE_INTEGER)),
          finished: fc.boolean(),
        }),
        { minLength: cuts.length + 1, maxLength: cuts.length + 1 },
      ),
    ),
  )
  .map(([starts, rest]) => rest.map((one, index) => ({ lo: starts[index] ?? 0, hi: (starts[index + 1] ?? PARTITIONS) - 1, ...one })));

const turn = fc.integer({ min: 0, max: PARTITIONS });
const states: fc.Arbitrary<CursorState> = fc.record({ positions, readTurn: turn, probeTurn: turn });
const ANY: CursorState = {
  positions: [{ lo: 0, hi: PARTITIONS - 1, segment: segmentId(9), offset: 300, finished: false }],
  readTurn: 0,
  probeTurn: 0,
};

describe('cursor', () => {
  test('comes back as it was, in characters that need no escape in a URL', async () => {
    await fc.assert(
      fc.asyncProperty(states, async (state) => {
        const text = await encodeCursor(topic, state, authenticator);
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(await decodeCursor(topic, text, authenticator)).toEqual(state);
      }),
    );
  });

  test('A18 with any character changed, lost or added, it is refused', async () => {
    const text = await encodeCursor(topic, ANY, authenticator);
    const refused = async (forged: string): Promise<void> => {
      await expect(decodeCursor(topic, forged, authenticator)).rejects.toMatchObject({
        kind: 'invalid',
        code: 'invalid-cursor',
        field: 'cursor',
      });
    };
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ';
    for (let at = 0; at < text.length; at += 1) {
      for (const character of alphabet) if (character !== text[at]) await refused(text.slice(0, at) + character + text.slice(at + 1));
      await refused(text.slice(0, at) + text.slice(at + 1));
      await refused(text.slice(0, at));
    }
    for (const forged of [`${text}A`, `${text}=`, `${text}==`, ` ${text}`, '', '-', 'null', '0', `${text}${text}`, 'é'])
      await refused(forged);
  });

  test('of another topic, or signed with another secret: refused', async () => {
    const text = await encodeCursor(topic, ANY, authenticator);
    const refused = { kind: 'invalid', code: 'invalid-cursor' };
    await expect(decodeCursor(createTopic({ name: 'other', firstSegment: 7 }), text, authenticator)).rejects.toMatchObject(refused);
    await expect(decodeCursor(createTopic({ tenant: 'other', firstSegment: 7 }), text, authenticator)).rejects.toMatchObject(refused);
    await expect(decodeCursor(topic, text, createAuthenticator(['another']))).rejects.toMatchObject(refused);
  });

  test('while the secrets rotate, both verify and the newest signs', async () => {
    const old = await encodeCursor(topic, ANY, authenticator);
    const rotating = createAuthenticator(['new', 'secret']);
    expect(await decodeCursor(topic, old, rotating)).toEqual(ANY);
    const fresh = await encodeCursor(topic, ANY, rotating);
    expect(await decodeCursor(topic, fresh, createAuthenticator(['new']))).toEqual(ANY);
    await expect(decodeCursor(topic, fresh, authenticator)).rejects.toMatchObject({ code: 'invalid-cursor' });
  });

  test('J-23 of a former life of the name: said so; of a later one: the topic in hand is the old one', async () => {
    const former = createTopic({ id: 'tbbbbbbbbbbbbbbb' as TopicId, firstSegment: 3 });
    const text = await encodeCursor(former, ANY, authenticator);
    await expect(decodeCursor(topic, text, authenticator)).rejects.toMatchObject({ kind: 'not-found', code: 'topic-replaced' });
    const later = await encodeCursor(topic, ANY, authenticator);
    await expect(decodeCursor(former, later, authenticator)).rejects.toMatchObject({ kind: 'not-found', code: 'topic-not-found' });
  });

  test('a reader of 64 segments has a cursor of less than a kilobyte', async () => {
    const many = Array.from({ length: 64 }, (_, index) => ({
      lo: index * 1_024,
      hi: index * 1_024 + 1_023,
      segment: segmentId(index + 100),
      offset: 1_000_000 + index,
      finished: false,
    }));
    const text = await encodeCursor(topic, { ...ANY, positions: many }, authenticator);
    expect(text.length).toBeLessThan(1_000);
  });
});
