import type { Range } from '../model/topic.ts';
import type { Room } from './take-batch.ts';

/** Whoever takes turns, in order of ranges. */
type Player = { readonly position: Range };

/** In order of their ranges, from the first at or behind `turn` on, and round. */
export function rotated<T extends Player>(players: readonly T[], turn: number): T[] {
  const first = players.findIndex(({ position }) => position.lo >= turn);
  return first === -1 ? [...players] : [...players.slice(first), ...players.slice(0, first)];
}

/** Whose turn is next, behind the last one that was served. */
export function turnBehind(served: readonly Player[], turn: number): number {
  const last = served.at(-1);
  return last === undefined ? turn : last.position.hi + 1;
}

/** An equal share of the room for each of `count`, and a message at least. */
export function shareOf(room: Room, count: number): Room {
  const share = (whole: number): number => Math.max(1, Math.floor(whole / count));
  return { messages: share(room.messages), bytes: share(room.bytes), batches: share(room.batches) };
}
