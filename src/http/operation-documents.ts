import { z } from 'zod';
import { IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX, TOPICS_LIST_DEFAULT, TOPICS_LIST_MAX } from '../model/limits.ts';
import { BATCH_MEDIA, JSON_MEDIA, NDJSON_MEDIA, PROMETHEUS_MEDIA } from './media-type.ts';
import { OLD_MESSAGE_DOCUMENTS } from './old-message-documents.ts';
import { broker, count, type OperationDocument, type Parameter, segment, timeout, timestamp, topic } from './operation-document.ts';
import type { Operation } from './paths.ts';
import { READ_DOCUMENTS } from './read-documents.ts';
import { Rebalance, Rebalanced, ScaleHistory } from './scale-schemas.ts';
import * as messages from './message-schemas.ts';
import * as schemas from './schemas.ts';
import { Sweep, SweepReport } from './sweep-schemas.ts';
import { UPLOAD_DOCUMENTS } from './upload-documents.ts';
import { SubmittedBatches } from './upload-schemas.ts';

const publishing: readonly Parameter[] = [
  topic,
  timeout,
  { name: 'Content-Encoding', in: 'header', schema: z.enum(['gzip', 'zstd', 'identity']) },
  { name: 'Kelp-Segment', in: 'header', schema: schemas.SegmentId, description: 'All messages lie in this segment.' },
  {
    name: 'Kelp-Producer-Id',
    in: 'header',
    schema: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/),
    description: 'With Epoch, Sequence and Kelp-Segment.',
  },
  { name: 'Kelp-Producer-Epoch', in: 'header', schema: count },
  {
    name: 'Kelp-Producer-Sequence',
    in: 'header',
    schema: count,
    description: "Of the first message, in this producer's count for this segment.",
  },
  { name: 'Kelp-Match-Tail', in: 'header', schema: count, description: "Stored only if the segment's tail is this offset." },
  { name: 'Idempotency-Key', in: 'header', schema: z.string().min(1).max(IDEMPOTENCY_KEY_BYTES_MAX) },
  { name: 'traceparent', in: 'header', schema: z.string(), description: 'Kept as a header of the messages.' },
];
const publishProblems = [404, 409, 410, 412, 413, 415, 422, 504];

export const OPERATION_DOCUMENTS: Readonly<Record<Operation, OperationDocument>> = {
  livez: {
    summary: 'Whether the process answers, and whether it was told to stop.',
    answers: { 200: { description: 'It does.', content: { [JSON_MEDIA]: schemas.Life } } },
  },
  readyz: {
    summary: 'Whether both stores take a write and give it back.',
    answers: { 200: { description: 'They do.', content: { [JSON_MEDIA]: schemas.Status } } },
  },
  metrics: {
    summary: 'Metrics in Prometheus text.',
    answers: { 200: { description: 'The metrics.', content: { [PROMETHEUS_MEDIA]: 'text' } } },
    problems: [406],
  },
  openapi: {
    summary: 'This document.',
    answers: { 200: { description: 'OpenAPI 3.1.', content: { [JSON_MEDIA]: z.looseObject({ openapi: z.string() }) } } },
    problems: [406],
  },
  about: {
    summary: 'Version, formats and limits of this endpoint.',
    answers: { 200: { description: 'What it can do.', content: { [JSON_MEDIA]: schemas.About } } },
    problems: [406],
  },
  listTopics: {
    summary: 'Topics in order of their names.',
    parameters: [
      { name: 'limit', in: 'query', schema: z.int().min(1).max(TOPICS_LIST_MAX).default(TOPICS_LIST_DEFAULT) },
      { name: 'after', in: 'query', schema: schemas.TopicName, description: 'The `next` of the page before.' },
      timeout,
    ],
    answers: { 200: { description: 'A page.', content: { [JSON_MEDIA]: schemas.TopicsPage } } },
    problems: [406],
  },
  createTopic: {
    summary: 'Makes a topic, or finds it made.',
    parameters: [topic, timeout],
    body: { [JSON_MEDIA]: schemas.TopicSettings },
    answers: {
      200: { description: 'It was there with the same settings.', content: { [JSON_MEDIA]: schemas.Topic } },
      201: { description: 'It was made.', content: { [JSON_MEDIA]: schemas.Topic } },
    },
    problems: [409, 413, 415, 504],
  },
  getTopic: {
    summary: 'One topic.',
    parameters: [topic, timeout],
    answers: { 200: { description: 'The topic.', content: { [JSON_MEDIA]: schemas.Topic } } },
    problems: [404, 406],
  },
  changeTopic: {
    summary: 'Changes those settings of a topic that are named; the others stay.',
    parameters: [topic, timeout],
    body: { [JSON_MEDIA]: schemas.SettingsChange },
    answers: { 200: { description: 'The topic as it is then.', content: { [JSON_MEDIA]: schemas.Topic } } },
    problems: [404, 413, 415, 504],
  },
  deleteTopic: {
    summary: 'Deletes a topic. Its name is free at once.',
    parameters: [topic, timeout],
    answers: { 204: { description: 'Nothing can be published or read under this name any more.' } },
    problems: [404, 504],
  },
  publishMessages: {
    summary: 'Stores messages, and answers once they are durable.',
    parameters: publishing,
    body: { [JSON_MEDIA]: z.union([messages.Envelope, SubmittedBatches]), [NDJSON_MEDIA]: 'text', [BATCH_MEDIA]: 'binary' },
    answers: {
      200: { description: 'A result for each message, or for each batch.', content: { [JSON_MEDIA]: messages.Results } },
      207: {
        description: 'Some segments failed: a problem in place of each failed result.',
        content: { [JSON_MEDIA]: messages.PartialResults },
      },
    },
    problems: publishProblems,
  },
  publishMessage: {
    summary: 'Stores one message: the body is its value.',
    parameters: [
      ...publishing,
      { name: 'key', in: 'query', schema: z.string().max(KEY_BYTES_MAX) },
      { name: 'Kelp-Key', in: 'header', schema: z.string().max(KEY_BYTES_MAX), description: 'In place of ?key=, in printable ASCII.' },
    ],
    body: { '*/*': 'binary' },
    answers: { 200: { description: 'Where the message is.', content: { [JSON_MEDIA]: messages.Placed } } },
    problems: publishProblems,
  },
  ...UPLOAD_DOCUMENTS,
  ...READ_DOCUMENTS,
  ...OLD_MESSAGE_DOCUMENTS,
  listSegments: {
    summary: 'Segments of a topic, sealed ones too.',
    parameters: [topic, { name: 'at', in: 'query', schema: timestamp, description: 'Only those that were open then.' }, timeout],
    answers: { 200: { description: 'The segments.', content: { [JSON_MEDIA]: schemas.Segments } } },
    problems: [404, 406],
  },
  getSegment: {
    summary: 'One segment.',
    parameters: [topic, segment, timeout],
    answers: { 200: { description: 'The segment.', content: { [JSON_MEDIA]: schemas.Segment } } },
    problems: [404, 406, 410],
  },
  segmentBrokers: {
    summary: 'Who serves a segment; chosen now if nobody does yet. Reports a broker that does not answer.',
    parameters: [topic, segment, timeout],
    body: { [JSON_MEDIA]: schemas.Suspicion },
    bodyOptional: true,
    answers: { 200: { description: 'Its brokers, or those of its successors.', content: { [JSON_MEDIA]: schemas.SegmentBrokers } } },
    problems: [404, 410, 413, 415, 504],
  },
  splitSegment: {
    summary: 'Cuts a segment in two.',
    parameters: [topic, segment, timeout],
    body: { [JSON_MEDIA]: schemas.SplitSegment },
    answers: { 200: { description: 'Two segments took its place.', content: { [JSON_MEDIA]: schemas.SegmentSplit } } },
    problems: [404, 409, 410, 413, 415, 504],
  },
  mergeSegments: {
    summary: 'Makes one segment of two neighbours.',
    parameters: [topic, timeout],
    body: { [JSON_MEDIA]: schemas.MergeSegments },
    answers: { 200: { description: 'One segment took their place.', content: { [JSON_MEDIA]: schemas.SegmentsMerged } } },
    problems: [404, 409, 410, 413, 415, 504],
  },
  getScaling: {
    summary: 'The latest splits and merges of a topic, newest first.',
    parameters: [topic, timeout],
    answers: { 200: { description: 'The history.', content: { [JSON_MEDIA]: ScaleHistory } } },
    problems: [404, 406],
  },
  rebalance: {
    summary: 'Has the leader look at all topics, or at one, and split and merge now.',
    parameters: [timeout],
    body: { [JSON_MEDIA]: Rebalance },
    bodyOptional: true,
    answers: { 200: { description: 'What was planned, and what became of it.', content: { [JSON_MEDIA]: Rebalanced } } },
    problems: [404, 413, 415, 504],
  },
  sweep: {
    summary: 'Removes what nobody needs: uploads that were never submitted in time, and what deleted topics have left.',
    parameters: [timeout],
    body: { [JSON_MEDIA]: Sweep },
    bodyOptional: true,
    answers: { 200: { description: 'What was done, or would be.', content: { [JSON_MEDIA]: SweepReport } } },
    problems: [413, 415],
  },
  listBrokers: {
    summary: 'All brokers, in order of their ids.',
    parameters: [timeout],
    answers: { 200: { description: 'The brokers.', content: { [JSON_MEDIA]: schemas.Brokers } } },
    problems: [406],
  },
  getLeader: {
    summary: 'Who leads.',
    parameters: [timeout],
    answers: { 200: { description: 'The leader.', content: { [JSON_MEDIA]: schemas.Leader } } },
    problems: [406],
  },
  drainBroker: {
    summary: "Moves a broker's segments to others; then it leaves.",
    parameters: [broker, timeout],
    body: { [JSON_MEDIA]: schemas.Drain },
    bodyOptional: true,
    answers: { 202: { description: 'It is under way.', content: { [JSON_MEDIA]: schemas.Draining } } },
    problems: [404, 409, 413, 415, 504],
  },
};
