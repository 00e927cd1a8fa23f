import { asField, inField, inLine } from '../format/field-path.ts';
import { encodeReference } from '../format/reference.ts';
import { invalid, KelpError } from '../model/errors.ts';
import type { Bytes, Message } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import { uploadIn } from '../model/upload-errors.ts';
import type { Uploads } from '../reference/uploads.ts';
import type { EnvelopeFormat } from './media-type.ts';
import type { Parsed } from './publish-content.ts';
import type { PublishOptions } from './request-headers.ts';
import { parseSubmittedBatches } from './submitted-batches.ts';

type Deps = { readonly uploads: Uploads };

/** Messages whose values are uploads get what these are; the others stay as they are. */
export async function resolveMessages(
  { uploads }: Deps,
  topic: Topic,
  {
    messages,
    options,
    format,
  }: { readonly messages: readonly Message[]; readonly options: PublishOptions; readonly format: EnvelopeFormat },
  signal: AbortSignal,
): Promise<Parsed> {
  if (messages.every(({ upload }) => upload === undefined)) return { content: { kind: 'messages', messages }, options };
  refuseProducer(options);
  const ids = messages.flatMap(({ upload }) => upload ?? []);
  const inRequest = (error: unknown): unknown => inMessage(error, messages, format);
  const found = await uploads.resolve(topic, ids, signal).catch((error: unknown) => {
    throw inRequest(error);
  });
  const resolved = messages.map((message) => {
    const reference = message.upload === undefined ? undefined : found.get(message.upload);
    return reference === undefined ? message : { ...message, value: encodeReference(reference) };
  });
  return { content: { kind: 'messages', messages: resolved }, options, inRequest };
}

/** An upload that is committed as it is, once its headers are what the request says. */
export async function resolveBatches(
  { uploads }: Deps,
  topic: Topic,
  { body, options }: { readonly body: Bytes; readonly options: PublishOptions },
  signal: AbortSignal,
): Promise<Parsed> {
  const { upload, segment, batches } = parseSubmittedBatches(body);
  refuseProducer(options);
  if (options.segment !== undefined && options.segment !== segment)
    throw invalid('invalid-segment', 'segment', 'Kelp-Segment names another one');
  const checked = await uploads.checkBatches(topic, { upload, batches }, signal).catch((error: unknown) => {
    throw inBatch(error);
  });
  return { content: { kind: 'uploaded', upload, batches: checked }, options: { ...options, segment }, inRequest: inBatch };
}

function refuseProducer({ producer }: PublishOptions): void {
  if (producer === undefined) return;
  throw invalid('invalid-header', 'Kelp-Producer-Id', 'an upload is submitted once in any case: it goes without a producer');
}

function inMessage(error: unknown, messages: readonly Message[], format: EnvelopeFormat): unknown {
  const upload = error instanceof KelpError ? uploadIn(error) : undefined;
  const index = upload === undefined ? -1 : messages.findIndex((message) => message.upload === upload);
  if (index === -1) return error;
  const placed = asField('upload', error);
  return format === 'json' ? inField(`messages[${index}]`, placed) : inLine(index + 1, placed);
}

const inBatch = (error: unknown): unknown =>
  error instanceof KelpError && uploadIn(error) !== undefined ? asField('batch', error) : error;
