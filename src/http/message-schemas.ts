import { z } from 'zod';
import { HEADERS_MAX, REQUEST_MESSAGES_MAX, TIMESTAMP_MS_MAX } from '../model/limits.ts';
import { Base64, Integer, Partition, Problem, SegmentId, SegmentRange } from './schemas.ts';
import { ShownReference, UploadId } from './upload-schemas.ts';

// Messages in and out, as schemas.ts has the rest.

const Offset = Integer;

export const HeaderValue = z.union([z.string(), z.strictObject({ bytes: Base64 }), z.null()]).meta({ id: 'HeaderValue' });
export const Headers = z.array(z.tuple([z.string(), HeaderValue])).meta({ id: 'Headers' });
export const Json = z
  .union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())])
  .meta({ id: 'Json', description: 'Any JSON; kept as the very text that was sent.' });
const Timestamp = z.int().min(0).max(TIMESTAMP_MS_MAX);

/** One of the payload's forms; as a union, so that a generated client can't build two. */
const payloads = (shape: z.core.$ZodLooseShape): readonly [z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject] => [
  z.strictObject({ ...shape, value: Json }),
  z.strictObject({ ...shape, text: z.string() }),
  z.strictObject({ ...shape, bytes: Base64 }),
  z.strictObject({ ...shape, tombstone: z.literal(true) }),
];

const newShape = {
  key: z.string().optional(),
  headers: z.union([Headers.max(HEADERS_MAX), z.record(z.string(), HeaderValue)]).optional(),
  timestamp: Timestamp.optional(),
};

export const NewMessage = z.union([...payloads(newShape), z.strictObject({ ...newShape, upload: UploadId })]).meta({ id: 'NewMessage' });

export const Envelope = z.strictObject({ messages: z.array(NewMessage).min(1).max(REQUEST_MESSAGES_MAX) }).meta({ id: 'Envelope' });

const stored = (shape: Record<string, z.ZodType>) => {
  const front = { ...shape, offset: Offset, partition: Partition };
  const back = { headers: Headers, timestamp: Timestamp };
  const shapes = [
    { ...front, key: z.string(), ...back },
    { ...front, keyBytes: Base64, ...back },
  ];
  return z.union(shapes.flatMap((one) => [...payloads(one), z.strictObject({ ...one, reference: ShownReference })]));
};

export const Message = stored({}).meta({ id: 'Message' });
export const TopicMessage = stored({ segment: SegmentId }).meta({ id: 'TopicMessage' });

export const SegmentPage = z
  .strictObject({
    messages: z.array(Message),
    nextOffset: Offset,
    tail: Offset,
    sealed: z.boolean(),
    successors: z.array(SegmentRange),
  })
  .meta({ id: 'SegmentPage' });

export const TopicPage = z.strictObject({ messages: z.array(TopicMessage), cursor: z.string() }).meta({ id: 'TopicPage' });

export const Placed = z
  .strictObject({
    segment: SegmentId,
    offset: Offset.nullable(),
    count: z.int().min(1).optional(),
    duplicate: z.literal(true).optional(),
  })
  .meta({
    id: 'Placed',
    description: 'Where a message is, or where a batch of `count` begins. `offset` null: stored too long ago to say.',
  });

export const Results = z.strictObject({ results: z.array(Placed).min(1) }).meta({ id: 'Results' });
export const PartialResults = z.strictObject({ results: z.array(z.union([Placed, Problem])).min(2) }).meta({ id: 'PartialResults' });
