import type { Context } from 'hono';
import { checkJson } from '../format/json-scanner.ts';
import { type Kind, withKind } from '../format/message-kind.ts';
import { checkMessage } from '../format/message-limits.ts';
import { type KeyRule, keyRule, resolveKey } from '../format/resolve-key.ts';
import { decodeUtf8, encodeUtf8 } from '../format/utf8.ts';
import { invalid, KelpError } from '../model/errors.ts';
import { MESSAGE_BYTES_MAX } from '../model/limits.ts';
import type { Bytes, Header, Message } from '../model/message.ts';
import { withBrokerHints } from './broker-hints.ts';
import type { Handler } from './call.ts';
import type { PublishingDependencies } from './dependencies.ts';
import { type ContentType, isUtf8, parseContentType } from './media-type.ts';
import { messageHeadersOf, withTrace } from './message-headers.ts';
import { placedAnswer } from './publish-answer.ts';
import { bodyOf } from './publish-body.ts';
import { once, publishRequestOf, refuseIfFull } from './publish-content.ts';
import { parseQuery } from './query.ts';
import { publishOptionsOf, traceParentOf } from './request-headers.ts';
import { STALE_FOR_PUBLISHES, withTopic } from './with-topic.ts';

/** What the request says besides its body. */
type Sent = { readonly key: Bytes | undefined; readonly headers: readonly Header[]; readonly type: ContentType | undefined };

const PRINTABLE = /^[\x20-\x7e]*$/;

/** One message, whose value is the body: for senders that send what they have, such as webhooks. */
export function createPublishMessage(deps: PublishingDependencies): Handler {
  const { topics, publisher, clock } = deps;
  return async (call) => {
    const { context, signal } = call;
    const options = publishOptionsOf(context);
    const sent = { key: keyOf(context), headers: messageHeadersOf(context), type: parseContentType(context.req.header('content-type')) };
    const traceParent = traceParentOf(context);
    refuseIfFull(publisher);
    const readBody = once(() => bodyOf(deps, call, MESSAGE_BYTES_MAX));
    return withTopic(call, { topics, stale: STALE_FOR_PUBLISHES }, async (topic) => {
      const body = await readBody();
      const message = messageOf(sent, body, { rule: keyRule(topic.settings.partitionKey), nowMs: clock.nowMs() });
      const content = { kind: 'messages', messages: [withTrace(message, traceParent)] } as const;
      const request = publishRequestOf(topic, content, { what: () => whatOf(sent), options, body, timeoutMs: call.remainingMs() });
      return withBrokerHints(deps, { call, topic, segment: options.segment }, async (hints) =>
        placedAnswer(await publisher.publish(topic, request, signal), hints),
      );
    });
  };
}

/** Error `invalid-key`: given twice, or in a header with characters whose bytes nobody can be sure of. */
function keyOf(context: Context): Bytes | undefined {
  const inQuery = parseQuery(context.req.url, ['key'], 'ignored').get('key');
  const inHeader = context.req.raw.headers.get('kelp-key');
  if (inQuery !== undefined && inHeader !== null) throw invalid('invalid-key', 'key', 'the key is in ?key= or in Kelp-Key, not in both');
  if (inHeader !== null && !PRINTABLE.test(inHeader)) {
    throw invalid('invalid-key', 'Kelp-Key', 'printable ASCII only; ?key= takes everything, percent-encoded');
  }
  const key = inQuery ?? inHeader;
  return key === null ? undefined : encodeUtf8(key);
}

function messageOf(
  { key, headers, type }: Sent,
  body: Bytes,
  { rule, nowMs }: { readonly rule: KeyRule; readonly nowMs: number },
): Message {
  const saysJson = type !== undefined && isUtf8(type) && /^application\/(?:.+\+)?json$/.test(type.essence);
  const isJson = (saysJson || rule.from === 'pointer') && isStrictJson(body);
  const resolved = resolveKey(lowerCase(rule), { key, headers, json: isJson ? body : undefined });
  const kind = kindOf(type, { isJson: isJson && saysJson, body });
  const message = { key: resolved, value: body, headers: withKind(headers, kind), timestampMs: nowMs };
  checkMessage(message);
  return message;
}

/** HTTP has no case in names, so a topic's header is found in whatever case it was sent. */
const lowerCase = (rule: KeyRule): KeyRule => (rule.from === 'header' ? { ...rule, name: rule.name.toLowerCase() } : rule);

/** How the value is given back. It is stored as it came in any case, so a type that doesn't hold what it says costs nothing. */
function kindOf(type: ContentType | undefined, { isJson, body }: { readonly isJson: boolean; readonly body: Bytes }): Kind | undefined {
  if (isJson) return 'json';
  const saysText = type !== undefined && isUtf8(type) && type.essence.startsWith('text/');
  return saysText && decodeUtf8(body) !== undefined ? 'text' : undefined;
}

function isStrictJson(body: Bytes): boolean {
  try {
    checkJson(body);
    return true;
  } catch (error) {
    if (error instanceof KelpError) return false;
    throw error;
  }
}

/** A repeat under the same Idempotency-Key has the same key and headers. */
function whatOf({ key, headers, type }: Sent): string {
  const lines = headers.map(({ name, value }) => [name, value === null ? null : Buffer.from(value).toString('base64')]);
  return JSON.stringify(['message', key === undefined ? null : Buffer.from(key).toString('base64'), lines, type ?? null]);
}
