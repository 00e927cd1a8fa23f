import { expect } from 'vitest';
import { parseEnvelope, parseLines } from '../../src/format/message-json.ts';
import { keyRule } from '../../src/format/resolve-key.ts';
import type { Message } from '../../src/model/message.ts';
import type { PartitionKey } from '../../src/model/topic.ts';

// What both routes for messages as JSON, an envelope and lines, must answer alike.

export const NOW = 1_700_000_000_000;
export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
const optionsFor = (partitionKey: PartitionKey): Parameters<typeof parseEnvelope>[1] => ({ keyRule: keyRule(partitionKey), nowMs: NOW });

export const envelope = (body: string | Uint8Array, partitionKey: PartitionKey = 'key'): Message[] =>
  parseEnvelope(typeof body === 'string' ? bytesOf(body) : body, optionsFor(partitionKey));
export const lines = (body: string | Uint8Array, partitionKey: PartitionKey = 'key'): Message[] =>
  parseLines(typeof body === 'string' ? bytesOf(body) : body, optionsFor(partitionKey));

/** Both routes that take such a message must say the same; the answer is theirs. */
export function parse(message: string, partitionKey: PartitionKey = 'key'): Message {
  const [byEnvelope] = envelope(`{"messages":[${message}]}`, partitionKey);
  const [byLine] = lines(message, partitionKey);
  expect(byLine).toEqual(byEnvelope);
  if (byEnvelope === undefined) throw new Error('no message');
  return byEnvelope;
}

/** The error of both routes; fields are those of the envelope. */
export function refusalOf(
  message: string | Uint8Array,
  partitionKey: PartitionKey = 'key',
): { code: string; field: string | undefined; line: unknown } {
  const error = caught(() =>
    envelope(
      Buffer.concat([bytesOf('{"messages":[{"key":"a","text":"ok"},'), Buffer.from(message as Uint8Array), bytesOf(']}')]),
      partitionKey,
    ),
  );
  const byLine = caught(() => lines(Buffer.concat([Buffer.from(message as Uint8Array), bytesOf('\n')]), partitionKey));
  expect(byLine).toMatchObject({ kind: 'invalid', code: error.code, field: error.field?.replace(/^messages\[1\]\.?/, '') || undefined });
  return { code: error.code, field: error.field, line: byLine.extra['line'] };
}

export function caught(act: () => unknown): { code: string; field?: string; message: string; extra: Record<string, unknown> } {
  try {
    act();
  } catch (error) {
    return error as { code: string; field?: string; message: string; extra: Record<string, unknown> };
  }
  throw new Error('not refused');
}

export const text = (bytes: Uint8Array | null | undefined): string | null | undefined => bytes && Buffer.from(bytes).toString();
export const headersOf = (message: Message): unknown => message.headers.map(({ name, value }) => [name, text(value)]);
