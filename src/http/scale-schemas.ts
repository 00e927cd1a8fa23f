import { z } from 'zod';
import { SCALE_EVENTS_MAX } from '../model/scaling-limits.ts';
import { Integer, Load, Partition, SegmentId, Share, TopicName } from './schemas.ts';

// What was split and merged, as schemas.ts has the rest.

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

export const Rebalance = z
  .strictObject({ topic: TopicName.optional(), dryRun: z.boolean().default(false) })
  .meta({ id: 'Rebalance', description: 'Without a topic: all of them.' });

const plannedChange = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject({
    ...shape,
    reason: ScaleReason,
    children: z.array(SegmentId).min(1).max(2).optional(),
    refused: z.string().optional(),
  });

export const PlannedChange = z
  .union([
    plannedChange({ kind: z.literal('split'), segment: SegmentId, at: Partition }),
    plannedChange({ kind: z.literal('merge'), segments: z.array(SegmentId).length(2) }),
  ])
  .meta({ id: 'PlannedChange', description: '`children`: it was made. `refused`: the code of why it could not be.' });

export const HeldBack = z
  .strictObject({
    segment: SegmentId,
    why: z.enum(['hot-key', 'one-partition', 'cool-down', 'limit', 'in-vain', 'not-known', 'busy']),
    load: Load,
  })
  .meta({ id: 'HeldBack', description: 'A segment that carries too much and is not split now.' });

export const TopicPlan = z
  .strictObject({
    topic: TopicName,
    segments: Integer,
    changes: z.array(PlannedChange),
    hotKeys: z.array(z.strictObject({ segment: SegmentId, lo: Partition, hi: Partition, share: Share, load: Load })),
    held: z.array(HeldBack),
  })
  .meta({ id: 'TopicPlan' });

export const Rebalanced = z.strictObject({ topics: z.array(TopicPlan) }).meta({ id: 'Rebalanced' });
