import { KelpError, invalid } from '../model/errors.ts';
import type { Bytes, Header } from '../model/message.ts';
import type { PartitionKey } from '../model/topic.ts';
import { findByPointer, type JsonPointer, parsePointer, scalarText } from './json-pointer.ts';
import { checkKey } from './message-limits.ts';

/** Where a topic's messages have their keys, ready to be applied to many of them. */
export type KeyRule =
  | { readonly from: 'key' }
  | { readonly from: 'header'; readonly name: string }
  | { readonly from: 'pointer'; readonly text: string; readonly pointer: JsonPointer };

/** What a key can be taken from. `key`: what was sent as such. `json`: the value, where it is well-formed JSON. */
export type KeySources = { readonly key?: Bytes | undefined; readonly headers: readonly Header[]; readonly json?: Bytes | undefined };

/** Error `invalid-pointer`. */
export function keyRule(partitionKey: PartitionKey): KeyRule {
  if (partitionKey === 'key') return { from: 'key' };
  if ('header' in partitionKey) return { from: 'header', name: partitionKey.header };
  return { from: 'pointer', text: partitionKey.pointer, pointer: parsePointer(partitionKey.pointer) };
}

/**
 * The partition key of a message, as bytes. Error `invalid-key` where there is none: an absent key, null and the empty text
 * are three things, and only the last one is a key. Also where a key was sent that the topic's rule doesn't look at: the
 * sender believes that it decides, and it doesn't.
 */
export function resolveKey(rule: KeyRule, sources: KeySources): Bytes {
  const key = rule.from === 'key' ? explicitKey(sources) : foundKey(rule, sources);
  checkKey(key, rule.from === 'pointer' ? 'value' : rule.from === 'header' ? 'headers' : 'key');
  return key;
}

function explicitKey({ key }: KeySources): Bytes {
  if (key === undefined) throw invalid('invalid-key', 'key', 'a message of this topic needs a key');
  return key;
}

function foundKey(rule: Exclude<KeyRule, { from: 'key' }>, { key, headers, json }: KeySources): Bytes {
  if (key !== undefined)
    throw invalid('invalid-key', 'key', `the key of this topic's messages is in the ${rule.from === 'header' ? 'headers' : 'value'}`);
  if (rule.from === 'pointer') return keyAtPointer(rule, json);
  const header = headers.find(({ name }) => name === rule.name);
  if (header === undefined) throw invalid('invalid-key', 'headers', `the header ${rule.name}, which is the key, is missing`);
  if (header.value === null) throw invalid('invalid-key', 'headers', `the header ${rule.name}, which is the key, has no value`);
  return header.value;
}

function keyAtPointer({ text, pointer }: Extract<KeyRule, { from: 'pointer' }>, json: Bytes | undefined): Bytes {
  if (json === undefined) throw noKey(text, 'the value is not sent as JSON');
  const token = uniquely(text, () => findByPointer(json, pointer));
  if (token === undefined) throw noKey(text, 'the value has nothing there');
  const key = scalarText(token);
  if (key === undefined) throw noKey(text, 'null, objects and arrays are no keys');
  return key;
}

function uniquely<T>(pointer: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof KelpError) throw noKey(pointer, error.message);
    throw error;
  }
}

const noKey = (pointer: string, why: string): KelpError =>
  new KelpError('invalid', 'invalid-key', `the key is at ${pointer === '' ? 'the value itself' : pointer}: ${why}`, {
    field: 'value',
    extra: { pointer },
  });
