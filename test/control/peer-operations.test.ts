import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeAnswer, encodeMessage, PEER_MESSAGES } from '../../src/control/peer-messages.ts';
import { createPeerOperations } from '../../src/control/peer-operations.ts';
import { decodeUtf8, encodeUtf8 } from '../../src/format/utf8.ts';
import { KelpError } from '../../src/model/errors.ts';
import { brokerId } from './some-broker.ts';

const { signal } = new AbortController();
const TOPIC = 'tz7unqpl8fj8enug';
const refusing = () => Promise.reject(new KelpError('unavailable', 'not-leader', 'this broker does not lead'));

const operations = createPeerOperations({
  self: brokerId('a'),
  registration: { instance: 'i1', version: () => 7 },
  leadership: { current: () => undefined },
  noteAsked: () => undefined,
  service: { assign: refusing, suspect: refusing, drain: refusing, change: refusing },
});
const call = async (operation: string, body: string | Uint8Array): Promise<unknown> => {
  const answer = await operations[operation]?.(typeof body === 'string' ? encodeUtf8(body) : body, signal);
  return JSON.parse(decodeUtf8(answer ?? new Uint8Array()) ?? '') as unknown;
};

const REQUESTS = {
  lease: {},
  probe: {},
  assign: { topic: TOPIC, name: 'orders', segment: 's0000000' },
  suspect: { topic: TOPIC, segment: 's0000000', broker: 'b' },
  drain: { broker: 'b', perSecond: 20 },
  change: { topic: TOPIC, change: { kind: 'split', id: 'c0123456789abcdef', segment: 's0000000', at: 7 } },
} as const;

describe('an operation', () => {
  test('of whoever lives answers which life it is; of the leader is refused by others', async () => {
    expect(await call('probe', '{}')).toEqual({ broker: 'a', instance: 'i1', version: 7 });
    for (const operation of ['lease', 'assign', 'suspect', 'drain', 'change'] as const) {
      const asked = call(operation, JSON.stringify(REQUESTS[operation]));
      await expect(asked).rejects.toMatchObject({ kind: 'unavailable', code: 'not-leader' });
    }
  });

  test('takes its members, and those that a newer version adds', async () => {
    expect(await call('probe', '{"more":1}')).toMatchObject({ broker: 'a' });
    const isInvalid = { kind: 'invalid', code: 'invalid-request' };
    for (const [operation, request] of Object.entries(REQUESTS)) {
      const wrong: unknown[] = [[], 'text', null, 7];
      for (const [name, value] of Object.entries(request)) {
        const { [name]: _, ...without } = request as Record<string, unknown>;
        wrong.push(without, { ...request, [name]: null }, { ...request, [name]: [value] }, { ...request, [name]: '' });
      }
      for (const body of wrong) await expect(call(operation, JSON.stringify(body))).rejects.toMatchObject(isInvalid);
      for (const body of ['', '{', new Uint8Array([0xff, 0xfe])]) await expect(call(operation, body)).rejects.toMatchObject(isInvalid);
    }
    for (const perSecond of [0, -1, 1.5, 1_001]) {
      await expect(call('drain', JSON.stringify({ broker: 'b', perSecond }))).rejects.toMatchObject(isInvalid);
    }
    const { change } = REQUESTS.change;
    for (const wrong of [
      { at: -1 },
      { at: 1.5 },
      { at: 65_536 },
      { id: 'c1' },
      { kind: 'merge' },
      { kind: 'merge', segments: ['s0000000'] },
    ]) {
      const body = JSON.stringify({ topic: TOPIC, change: { ...change, ...wrong } });
      await expect(call('change', body)).rejects.toMatchObject(isInvalid);
    }
  });

  test('nothing that comes in makes it fail in any other way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), fc.constantFrom(...Object.keys(REQUESTS)), async (body, operation) => {
        await expect(call(operation, body)).rejects.toMatchObject({ code: 'invalid-request' });
      }),
    );
  });
});

test('an answer that is not understood is no answer', () => {
  const { answer } = PEER_MESSAGES.suspect;
  expect(decodeAnswer(answer, encodeMessage({ dead: true }))).toEqual({ dead: true });
  expect(decodeAnswer(answer, encodeMessage({ dead: true, more: 1 }))).toEqual({ dead: true });
  for (const odd of [{}, { dead: 'yes' }, []]) {
    expect(() => decodeAnswer(answer, encodeMessage(odd))).toThrow(expect.objectContaining({ kind: 'unavailable', code: 'peer-odd' }));
  }
});
