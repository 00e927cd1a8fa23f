import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLineTurns, type Place } from '../../src/publish/line-turns.ts';
import { settle } from '../simulation/virtual-clock.ts';

const { signal } = new AbortController();

test('what this broker commits goes on together; what goes away waits for all before it, and all behind wait for it', async () => {
  const turns = createLineTurns();
  const begun: string[] = [];
  const take = (name: string, place: Place): void => {
    const turn = turns.take('line', place, signal);
    if (turn === undefined) begun.push(name);
    else void turn.then(() => begun.push(name));
  };
  take('here 1', 'here');
  take('here 2', 'here');
  take('away 1', 'away');
  take('here 3', 'here');
  take('here 4', 'here');
  take('away 2', 'away');
  await settle();
  expect(begun).toEqual(['here 1', 'here 2']);
  turns.end('line');
  await settle();
  expect(begun).toHaveLength(2);
  turns.end('line');
  await settle();
  expect(begun.splice(0)).toEqual(['here 1', 'here 2', 'away 1']);
  turns.end('line');
  await settle();
  expect(begun.splice(0)).toEqual(['here 3', 'here 4']);
  turns.end('line');
  turns.end('line');
  await settle();
  expect(begun).toEqual(['away 2']);
  turns.end('line');
  expect(() => turns.end('line')).toThrow('no turn');
});

test('lines don’t wait for each other', () => {
  const turns = createLineTurns();
  expect(turns.take('a', 'away', signal)).toBeUndefined();
  expect(turns.take('b', 'away', signal)).toBeUndefined();
});

test('whoever stops waiting leaves the line, and those behind go on', async () => {
  const turns = createLineTurns();
  expect(turns.take('line', 'here', signal)).toBeUndefined();
  const leaver = new AbortController();
  const left = turns.take('line', 'away', leaver.signal);
  const reason = new Error('gone');
  const stays = new AbortController();
  const third = turns.take('line', 'here', stays.signal);
  leaver.abort(reason);
  await expect(left).rejects.toBe(reason);
  await expect(third).resolves.toBeUndefined();
  expect(getEventListeners(stays.signal, 'abort')).toEqual([]);
});

test('in any order of places and ends, turns begin in the order in which they were asked for, and away is alone', async () => {
  const steps = fc.array(fc.oneof(fc.constantFrom<Place>('here', 'away'), fc.constant('end')), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const turns = createLineTurns();
      const begun: number[] = [];
      const running = new Map<number, Place>();
      let asked = 0;
      const endOne = async (): Promise<void> => {
        const [first] = running.keys();
        if (first === undefined) return;
        running.delete(first);
        turns.end('line');
        await settle();
      };
      for (const step of plan) {
        if (step === 'end') await endOne();
        else {
          const own = asked++;
          const begin = (): void => {
            begun.push(own);
            running.set(own, step);
          };
          const turn = turns.take('line', step, signal);
          if (turn === undefined) begin();
          else void turn.then(begin);
          await settle();
        }
        expect(running.size < 2 || ![...running.values()].includes('away')).toBe(true);
      }
      while (running.size > 0) await endOne();
      expect(begun).toEqual(Array.from({ length: asked }, (_, n) => n));
    }),
    { numRuns: 50 },
  );
});
