import { z } from 'zod';
import { TIMEOUT_MS_DEFAULT, TIMEOUT_MS_MAX, TIMESTAMP_MS_MAX } from '../model/limits.ts';
import * as schemas from './schemas.ts';

/** A body in each of its types: JSON by a schema, anything else as it is. */
export type Content = Readonly<Record<string, z.ZodType | 'text' | 'binary'>>;

export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: z.ZodType;
  readonly description?: string;
};

export type OperationDocument = {
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly body?: Content;
  /** The body may be left out. */
  readonly bodyOptional?: true;
  /** Successful answers by status. */
  readonly answers: Readonly<Record<number, { readonly description: string; readonly content?: Content }>>;
  /** Statuses of problems, besides those that everything behind the token has. */
  readonly problems?: readonly number[];
};

/** A bad request, no token, the deadline, too much at a time, a fault, a store that is down. */
export const COMMON_PROBLEMS = [400, 401, 408, 429, 500, 503] as const;

export const topic: Parameter = { name: 'topic', in: 'path', schema: schemas.TopicName };
export const segment: Parameter = { name: 'segment', in: 'path', schema: schemas.SegmentId };
export const broker: Parameter = { name: 'broker', in: 'path', schema: schemas.BrokerId };
export const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
export const timestamp = z.int().min(0).max(TIMESTAMP_MS_MAX);
export const timeout: Parameter = {
  name: 'Kelp-Timeout-Ms',
  in: 'header',
  schema: z.int().min(1).max(TIMEOUT_MS_MAX).default(TIMEOUT_MS_DEFAULT),
  description: 'How long the caller waits, in milliseconds.',
};
