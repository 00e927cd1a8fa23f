import { parseEnvelope, parseLines } from '../format/message-json.ts';
import { checkSentBatches } from '../format/record-batch-sent.ts';
import { keyRule } from '../format/resolve-key.ts';
import type { Bytes, Message } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { PublishContent } from '../publish/request.ts';
import type { Handler } from './call.ts';
import type { PublishingDependencies } from './dependencies.ts';
import { withBrokerHints } from './broker-hints.ts';
import { type EnvelopeFormat, envelopeFormat } from './media-type.ts';
import { withTrace } from './message-headers.ts';
import { publishAnswer } from './publish-answer.ts';
import { bodyOf } from './publish-body.ts';
import { once, type Parsed, publishRequestOf, refuseIfFull } from './publish-content.ts';
import { resolveBatches, resolveMessages } from './publish-uploads.ts';
import { type PublishOptions, publishOptionsOf, traceParentOf } from './request-headers.ts';
import { isSubmittedBatches } from './submitted-batches.ts';
import { STALE_FOR_UPLOADS, withTopic } from './with-topic.ts';

type Sent = {
  readonly format: EnvelopeFormat;
  readonly body: Bytes;
  readonly options: PublishOptions;
  readonly traceParent: string | undefined;
};

/** Many messages: as JSON, as lines of JSON, or as record batches. Everything that headers can tell is settled before the body is read. */
export function createPublishMessages(deps: PublishingDependencies): Handler {
  const { topics, publisher } = deps;
  return async (call) => {
    const { context, signal } = call;
    const format = envelopeFormat(context.req.header('content-type'));
    const options = publishOptionsOf(context);
    const traceParent = traceParentOf(context);
    refuseIfFull(publisher);
    const readBody = once(() => bodyOf(deps, call));
    return withTopic(call, { topics, stale: STALE_FOR_UPLOADS }, async (topic) => {
      const body = await readBody();
      const sent = { format, body, options, traceParent };
      const { content, options: asked, inRequest } = await parse(deps, topic, sent, signal);
      const sameness = { what: () => `messages ${format}`, options: asked, body };
      const request = publishRequestOf(topic, content, { ...sameness, timeoutMs: call.remainingMs() });
      const answer = withBrokerHints(deps, { call, topic, segment: asked.segment }, async (hints) =>
        publishAnswer(await publisher.publish(topic, request, signal), hints, countsOf(content)),
      );
      if (inRequest === undefined) return answer;
      return answer.catch((error: unknown) => {
        throw inRequest(error);
      });
    });
  };
}

async function parse(deps: PublishingDependencies, topic: Topic, sent: Sent, signal: AbortSignal): Promise<Parsed> {
  const { format, body, options, traceParent } = sent;
  if (format === 'batch') return { content: { kind: 'batches', batches: await checkSentBatches(body, deps.compression) }, options };
  if (format === 'json' && isSubmittedBatches(body)) return resolveBatches(deps, topic, { body, options }, signal);
  const parsing = { keyRule: keyRule(topic.settings.partitionKey), nowMs: deps.clock.nowMs() };
  const messages = traced(format === 'json' ? parseEnvelope(body, parsing) : parseLines(body, parsing), traceParent);
  return resolveMessages(deps, topic, { messages, options, format }, signal);
}

/** Of each batch, where the results are those of batches. */
function countsOf(content: PublishContent): readonly number[] | undefined {
  return content.kind === 'messages' ? undefined : content.batches.map(({ partitions }) => partitions.length);
}

function traced(messages: readonly Message[], traceParent: string | undefined): readonly Message[] {
  return traceParent === undefined ? messages : messages.map((message) => withTrace(message, traceParent));
}
