import { z } from 'zod';
import { SCALE_EVENTS_MAX } from '../model/scaling-limits.ts';
import { Integer, Partition, SegmentId } from './schemas.ts';

// What was split and merged, as schemas.ts has the rest.

const Load = z.number().min(0);

export const ScaleReason = z
  .union([
    z.strictObject({
      why: z.enum(['over-target', 'severe', 'throttled']),
      load: Load,
      measure: z.enum(['messages', 'bytes', 'commits']),
    }),
    z.strictObject({ why: z.literal('minimum'), load: Load, minSegments: Integer }),
    z.strictObject({ why: z.literal('quiet'), load: Load, loadMax: Load, average: Load }),
  ])
  .meta({ id: 'ScaleReason', description: 'Loads are in times what a segment is to carry.' });

const scaleEvent = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject({
    atMs: Integer,
    parents: z.array(SegmentId),
    children: z.array(SegmentId),
    by: z.enum(['hand', 'planner']),
    reason: ScaleReason.optional(),
    ...shape,
  });

export const ScaleEvent = z
  .union([scaleEvent({ kind: z.literal('split'), at: Partition }), scaleEvent({ kind: z.literal('merge') })])
  .meta({ id: 'ScaleEvent', description: '`at`: first partition of the upper part.' });

export const ScaleHistory = z.strictObject({ events: z.array(ScaleEvent).max(SCALE_EVENTS_MAX) }).meta({ id: 'ScaleHistory' });
