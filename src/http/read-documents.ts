import { z } from 'zod';
import { READ_BYTES_DEFAULT, READ_BYTES_MAX, READ_MESSAGES_DEFAULT, READ_MESSAGES_MAX, WAIT_MS_MAX } from '../model/limits.ts';
import {
  INLINE_BYTES_MAX,
  REFERENCES_BYTES_DEFAULT,
  REFERENCES_BYTES_MAX,
  REFERENCES_MESSAGES_DEFAULT,
  REFERENCES_MESSAGES_MAX,
} from '../model/upload-limits.ts';
import { BATCH_MEDIA, JSON_MEDIA, NDJSON_MEDIA, REFERENCES_MEDIA, SSE_MEDIA } from './media-type.ts';
import { SegmentPage, TopicPage } from './message-schemas.ts';
import { count, type OperationDocument, type Parameter, segment, timeout, timestamp, topic } from './operation-document.ts';
import { SegmentReferences, TopicReferences } from './reference-schemas.ts';

// Messages out, as operation-documents.ts has the rest.

const reading: readonly Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    schema: z.int().min(1).max(REFERENCES_MESSAGES_MAX).default(READ_MESSAGES_DEFAULT),
    description: `At most ${READ_MESSAGES_MAX}, but of references; of these the default is ${REFERENCES_MESSAGES_DEFAULT}.`,
  },
  {
    name: 'maxBytes',
    in: 'query',
    schema: z.int().min(1).max(REFERENCES_BYTES_MAX).default(READ_BYTES_DEFAULT),
    description: `At most ${READ_BYTES_MAX}, but of references; of these the default is ${REFERENCES_BYTES_DEFAULT}.`,
  },
  { name: 'waitMs', in: 'query', schema: z.int().min(0).max(WAIT_MS_MAX).default(0), description: 'How long to wait at the tail.' },
  {
    name: 'inlineBytes',
    in: 'query',
    schema: z.int().min(0).max(INLINE_BYTES_MAX).default(0),
    description: 'Uploads of at most so many bytes come with them, in place of a URL.',
  },
  { name: 'Last-Event-ID', in: 'header', schema: z.string(), description: 'Server-sent events only: the position to go on from.' },
  timeout,
];
/** 413: an answer that would be larger than a function may give. */
const readProblems = [404, 406, 410, 413];
const STREAM_OVER = { description: 'Server-sent events only: the segment is sealed and was read to the end.' };

export const READ_DOCUMENTS = {
  readTopic: {
    summary: 'Messages of all segments, each key in order.',
    parameters: [
      topic,
      {
        name: 'cursor',
        in: 'query',
        schema: z.string().default('earliest'),
        description: 'earliest, latest, timestamp:<ms>, or the cursor of a page.',
      },
      ...reading,
    ],
    answers: {
      200: {
        description: 'A page, or a stream.',
        content: {
          [JSON_MEDIA]: TopicPage,
          [NDJSON_MEDIA]: 'text',
          [BATCH_MEDIA]: 'binary',
          [REFERENCES_MEDIA]: TopicReferences,
          [SSE_MEDIA]: 'text',
        },
      },
    },
    problems: readProblems,
  },
  readSegment: {
    summary: 'Messages of one segment, in order.',
    parameters: [
      topic,
      segment,
      { name: 'offset', in: 'query', schema: count },
      {
        name: 'timestamp',
        in: 'query',
        schema: timestamp,
        description: 'From the lowest offset with this time or a later one.',
      },
      { name: 'from', in: 'query', schema: z.enum(['earliest', 'latest']).default('earliest') },
      ...reading,
    ],
    answers: {
      200: {
        description: 'A page, or a stream.',
        content: {
          [JSON_MEDIA]: SegmentPage,
          [NDJSON_MEDIA]: 'text',
          [BATCH_MEDIA]: 'binary',
          [REFERENCES_MEDIA]: SegmentReferences,
          [SSE_MEDIA]: 'text',
        },
      },
      204: STREAM_OVER,
    },
    problems: [...readProblems, 416],
  },
} as const satisfies Readonly<Record<string, OperationDocument>>;
