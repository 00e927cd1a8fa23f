import { parseEnvelope, parseLines } from '../format/message-json.ts';
import { checkSentBatches } from '../format/record-batch-sent.ts';
import { keyRule } from '../format/resolve-key.ts';
import type { Bytes, Message } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { PublishContent } from '../publish/request.ts';
import type { Handler } from './call.ts';
import type { AppDependencies, PublishingDependencies } from './dependencies.ts';
import { withBrokerHints } from './broker-hints.ts';
import { type EnvelopeFormat, envelopeFormat } from './media-type.ts';
import { withTrace } from './message-headers.ts';
import { publishAnswer } from './publish-answer.ts';
import { bodyOf } from './publish-body.ts';
import { once, publishRequestOf, refuseIfFull } from './publish-content.ts';
import { publishOptionsOf, traceParentOf } from './request-headers.ts';
import { STALE_FOR_PUBLISHES, withTopic } from './with-topic.ts';

type Sent = { readonly format: EnvelopeFormat; readonly body: Bytes; readonly traceParent: string | undefined };

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
    return withTopic(call, { topics, stale: STALE_FOR_PUBLISHES }, async (topic) => {
      const body = await readBody();
      const content = await contentOf(deps, topic, { format, body, traceParent });
      const request = publishRequestOf(topic, content, { what: () => `messages ${format}`, options, body, timeoutMs: call.remainingMs() });
      const counts = content.kind === 'batches' ? content.batches.map((batch) => batch.partitions.length) : undefined;
      return withBrokerHints(deps, { call, topic, segment: options.segment }, async (hints) =>
        publishAnswer(await publisher.publish(topic, request, signal), hints, counts),
      );
    });
  };
}

async function contentOf(
  { compression, clock }: AppDependencies,
  topic: Topic,
  { format, body, traceParent }: Sent,
): Promise<PublishContent> {
  if (format === 'batch') return { kind: 'batches', batches: await checkSentBatches(body, compression) };
  const options = { keyRule: keyRule(topic.settings.partitionKey), nowMs: clock.nowMs() };
  const messages = format === 'json' ? parseEnvelope(body, options) : parseLines(body, options);
  return { kind: 'messages', messages: traced(messages, traceParent) };
}

function traced(messages: readonly Message[], traceParent: string | undefined): readonly Message[] {
  return traceParent === undefined ? messages : messages.map((message) => withTrace(message, traceParent));
}
