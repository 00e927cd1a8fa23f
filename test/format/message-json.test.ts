import { describe, expect, test } from 'vitest';
import { partitionOf } from '../../src/model/partition.ts';
import type { PartitionKey } from '../../src/model/topic.ts';
import { bytesOf, caught, envelope, headersOf, latin1, lines, parse, refusalOf, text } from './both-routes.ts';

const partitionOfId = (value: string): number => partitionOf(parse(`{"value":${value}}`, { pointer: '/id' }).key);

describe('messages as JSON', () => {
  test('J-01 absent, null, empty and the word null are four things', () => {
    expect(refusalOf('{"text":"1"}')).toEqual({ code: 'invalid-key', field: 'messages[1].key', line: 1 });
    expect(refusalOf('{"key":null,"text":"2"}')).toEqual({ code: 'invalid-key', field: 'messages[1].key', line: 1 });
    expect(partitionOf(parse('{"key":"","text":"3"}').key)).toBe(54301);
    expect(partitionOf(parse('{"key":"null","text":"4"}').key)).toBe(14246);
  });

  test.each(['1', 'true', '{}', '["a"]', '{"a":"b"}'])('J-01 a key %s is refused', (key) => {
    expect(refusalOf(`{"key":${key},"text":"x"}`)).toMatchObject({ code: 'invalid-key', field: 'messages[1].key' });
  });

  test.each(['{"a":null}', '{"a":{}}', '{"a":[]}', '{"b":1}', '1', '"a"', '[]'])('J-01 a pointer finds no key in %s', (value) => {
    const error = caught(() => envelope(`{"messages":[{"value":${value}}]}`, { pointer: '/a' }));
    expect(error).toMatchObject({ code: 'invalid-key', field: 'messages[0].value', extra: { pointer: '/a' } });
  });

  test.each(['"text":"{\\"a\\":1}"', '"bytes":"eyJhIjoxfQ=="', '"tombstone":true'])('a pointer needs a JSON value, not %s', (payload) => {
    expect(caught(() => envelope(`{"messages":[{${payload}}]}`, { pointer: '/a' }))).toMatchObject({
      code: 'invalid-key',
      field: 'messages[0].value',
    });
  });

  test('J-05 pointer keys are the text of the token', () => {
    expect(['9007199254740992', '9007199254740993', '1', '1.0', '"1"'].map((id) => partitionOfId(`{"id":${id}}`))).toEqual([
      14968, 12845, 50378, 58562, 50378,
    ]);
    expect(text(parse('{"value":{"id":true}}', { pointer: '/id' }).key)).toBe('true');
    expect(text(parse('{"value":"whole"}', { pointer: '' }).key)).toBe('whole');
  });

  test('a key may come from a header, the first one of the name', () => {
    const rule = { header: 'tenant' };
    expect(text(parse('{"text":"x","headers":[["Tenant","no"],["tenant","a"],["tenant","b"]]}', rule).key)).toBe('a');
    expect(text(parse('{"text":"x","headers":{"tenant":""}}', rule).key)).toBe('');
    expect([...parse('{"text":"x","headers":{"tenant":{"bytes":"//4="}}}', rule).key]).toEqual([0xff, 0xfe]);
    for (const message of ['{"text":"x"}', '{"text":"x","headers":{"tenant":null}}', '{"text":"x","headers":{"other":"a"}}']) {
      expect(caught(() => lines(message, rule))).toMatchObject({ code: 'invalid-key', field: 'headers' });
    }
  });

  test.each<PartitionKey>([{ header: 'tenant' }, { pointer: '/id' }])('a key that the rule %j does not look at is refused', (rule) => {
    const message = '{"key":"a","value":{"id":1},"headers":{"tenant":"b"}}';
    expect(caught(() => lines(message, rule))).toMatchObject({ code: 'invalid-key', field: 'key' });
  });

  test.each([
    ['gr\u00f6\u00dfe', 64955],
    ['gro\u0308\u00dfe', 31246],
    ['\u{1f695}', 23825],
    ['a\0b', 28725],
    ['x'.repeat(4096), 8259],
  ])('J-02 a key %j has its partition raw and escaped', (key, partition) => {
    const escaped = key.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    expect(partitionOf(parse(`{"key":"${escaped}","text":"x"}`).key)).toBe(partition);
    expect(partitionOf(parse(`{"key":${JSON.stringify(key)},"text":"x"}`).key)).toBe(partition);
  });

  test('J-04 text that is not UTF-8, or half a character, is refused', () => {
    for (const message of [
      latin1('{"key":"a","text":"na\xc3"}'),
      bytesOf('{"key":"a","text":"\\ud800"}'),
      bytesOf('{"key":"\\udc00","text":"x"}'),
      bytesOf('{"key":"a","value":{"x":"\\ud800"}}'),
      bytesOf('{"key":"a","text":"x","headers":{"h":"\\udfff"}}'),
      bytesOf('{"key":"a","text":"x","headers":[["\\ud800","v"]]}'),
    ]) {
      expect(refusalOf(message)).toMatchObject({ code: 'invalid-json', field: expect.stringMatching(/^messages\[1\]/) });
    }
    expect(Buffer.from(parse('{"key":"a","text":"\\ud83d\\ude95"}').value ?? []).toString('hex')).toBe('f09f9a95');
    const large = caught(() => envelope(latin1('\x80'.repeat(1_048_576))));
    expect(JSON.stringify({ ...large, message: large.message }).length).toBeLessThan(1_000);
  });

  test('J-05 a value is the slice of the request', () => {
    const value = '{"b":1, "id":9007199254740993,"z":-0,"one":1.0,\n"huge":400000000000000000001,"inf":1e400,"e":"\\u0041\\/"}';
    for (const body of [`{"messages":[{"key":"a","value": ${value} }]}`, `{"messages":[{"value":${value},"key":"a"}]}`]) {
      const [message] = envelope(body);
      expect(text(message?.value)).toBe(value);
      expect(message && headersOf(message)).toEqual([['kelp-kind', 'json']]);
    }
  });

  test.each([
    ['{"key":"a","key":"b","text":"x"}', 'invalid-json', 'messages[1].key'],
    ['{"key":"a","\\u006bey":"b","text":"x"}', 'invalid-json', 'messages[1].key'],
    ['{"key":"a","text":"x","text":"y"}', 'invalid-json', 'messages[1].text'],
    ['{"key":"a","text":"x","value":1}', 'invalid-message', 'messages[1].value'],
    ['{"key":"a","tombstone":true,"bytes":""}', 'invalid-message', 'messages[1].bytes'],
    ['{"__proto__":{"key":"a"},"text":"x"}', 'invalid-message', 'messages[1].__proto__'],
    ['{"key":"a","text":"x","constructor":1}', 'invalid-message', 'messages[1].constructor'],
    ['{"key":"a","text":"x","Key":"a"}', 'invalid-message', 'messages[1].Key'],
    ['{"key":"a","text":"x","a secret <script>":1}', 'invalid-message', 'messages[1]'],
    ['{"key":"a","text":"x","headers":{"h":"1","h":"2"}}', 'invalid-json', 'messages[1].headers.h'],
  ])('J-06 %s is refused', (message, code, field) => {
    expect(refusalOf(message)).toMatchObject({ code, field });
  });

  test('J-06 two members of a name on the way to the key are refused', () => {
    const error = caught(() => envelope('{"messages":[{"value":{"u":{"id":"a","id":"b"}}}]}', { pointer: '/u/id' }));
    expect(error).toMatchObject({ code: 'invalid-key', field: 'messages[0].value', extra: { pointer: '/u/id' } });
  });

  test.each(['{"x":1,"x":2}', '{"__proto__":{"a":1},"constructor":2}'])('J-06 the value %s is kept as it is', (value) => {
    expect(text(parse(`{"key":"a","value":${value}}`).value)).toBe(value);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  test('J-07 null, empty, absent and no value are four things', () => {
    expect(refusalOf('{"key":"a"}')).toMatchObject({ code: 'invalid-message', field: 'messages[1]' });
    expect(text(parse('{"key":"a","value":null}').value)).toBe('null');
    expect(parse('{"key":"a","text":""}').value).toHaveLength(0);
    expect(parse('{"key":"a","bytes":""}').value).toHaveLength(0);
    expect(parse('{"key":"a","tombstone":true}').value).toBeNull();
    expect(headersOf(parse('{"key":"a","text":""}'))).toEqual([['kelp-kind', 'text']]);
    expect(headersOf(parse('{"key":"a","bytes":""}'))).toEqual([]);
    expect(headersOf(parse('{"key":"a","tombstone":true}'))).toEqual([]);
  });

  test.each(['false', 'null', '1', '"true"', '{}'])('J-07 a tombstone %s is refused', (value) => {
    expect(refusalOf(`{"key":"a","tombstone":${value}}`)).toMatchObject({ code: 'invalid-message', field: 'messages[1].tombstone' });
  });

  test.each([
    'AA',
    'AA=',
    'A===',
    'AAA',
    'AA==\\n',
    ' AA==',
    'A A=',
    'AB==',
    'AAB=',
    'A-_=',
    '====',
    'AA==AA==',
    'w6R\\u00e4',
    '\\u0000AA=',
  ])('J-46 base64 %s is refused', (bytes) => {
    expect(refusalOf(`{"key":"a","bytes":"${bytes}"}`)).toMatchObject({ code: 'invalid-base64', field: 'messages[1].bytes' });
  });

  test('base64 gives the bytes, however it is escaped', () => {
    expect(Buffer.from(parse('{"key":"a","bytes":"/wDDKA=="}').value ?? []).toString('hex')).toBe('ff00c328');
    expect(Buffer.from(parse('{"key":"a","bytes":"\\/wDDKA\\u003d="}').value ?? []).toString('hex')).toBe('ff00c328');
  });
});
