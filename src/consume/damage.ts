import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';

export type Damage = {
  /** The topic's name. */
  readonly topic: string;
  readonly segment: SegmentId;
  /** First offset that can't be read, and the first behind it that may be readable again. */
  readonly offset: number;
  readonly nextOffset: number;
  /** Key of the object; absent where the index itself is damaged. */
  readonly object?: string;
};

/** Stored data that can't be read as it was written: named exactly, so that a reader can go on behind it. */
export function damaged(where: Damage, message: string, cause?: unknown): KelpError {
  return new KelpError('corrupt', 'corrupt', message, { cause, extra: { ...where } });
}
