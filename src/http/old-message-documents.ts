import { z } from 'zod';
import { FILES_LIST_DEFAULT, FILES_LIST_MAX } from '../model/archive-limits.ts';
import { JSON_MEDIA } from './media-type.ts';
import { FilesAfter, FilesPage, Truncate, Truncated } from './old-message-schemas.ts';
import { type OperationDocument, timeout, topic } from './operation-document.ts';
import { SegmentId } from './schemas.ts';

// Old messages, as operation-documents.ts has the rest.

export const OLD_MESSAGE_DOCUMENTS = {
  listFiles: {
    summary: 'Files of old messages, by segment and offset, each with a presigned GET.',
    parameters: [
      topic,
      { name: 'segment', in: 'query', schema: SegmentId, description: 'Of this one alone.' },
      { name: 'after', in: 'query', schema: FilesAfter, description: 'The `next` of the page before.' },
      { name: 'limit', in: 'query', schema: z.int().min(1).max(FILES_LIST_MAX).default(FILES_LIST_DEFAULT) },
      timeout,
    ],
    answers: { 200: { description: 'A page.', content: { [JSON_MEDIA]: FilesPage } } },
    problems: [404, 406, 410],
  },
  truncateTopic: {
    summary: 'Lets old messages go: those of a segment below an offset, or of all segments before a time.',
    parameters: [topic, timeout],
    body: { [JSON_MEDIA]: Truncate },
    answers: { 200: { description: 'Where the segments begin now, or would.', content: { [JSON_MEDIA]: Truncated } } },
    problems: [404, 410, 413, 415, 416, 504],
  },
} as const satisfies Readonly<Record<string, OperationDocument>>;
