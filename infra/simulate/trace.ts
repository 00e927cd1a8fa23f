import { type ExpectedFlood, SCALING_DEFAULT, type ScalingSettings } from '../../src/model/scaling.ts';
import type { Weights } from './weights.ts';

/** What comes at a moment. */
export type Flow = { readonly messagesPerSecond: number; readonly weights: Weights };

/** A load over virtual time. Second 0 is when scoring begins; the same load as there comes for `warmUpSeconds` before. */
export type Trace = {
  readonly name: string;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** How many topics there are of it, each by itself. */
  readonly topics: number;
  /** Equal ones, at the very beginning. */
  readonly segments: number;
  readonly settings: ScalingSettings;
  flowAt(second: number): Flow;
  /** When the load rises or moves at once: from then on relief is waited for. */
  readonly rises: readonly number[];
};

/** Second 0 by the calendar: a schedule is told in wall-clock time. */
export const EPOCH_MS = Date.UTC(2026, 0, 5);

export const BYTES_A_MESSAGE = 200;

/** Targets of which only the messages bind. */
export function settingsOf(targetMessagesPerSecond: number, schedule: readonly ExpectedFlood[] = []): ScalingSettings {
  return {
    ...SCALING_DEFAULT,
    targetMessagesPerSecond,
    targetBytesPerSecond: targetMessagesPerSecond * BYTES_A_MESSAGE * 2,
    schedule,
  };
}
