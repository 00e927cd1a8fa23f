import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { writeJson, writtenJson } from '../../src/format/json-writer.ts';
import { parseLines } from '../../src/format/message-json.ts';
import { type MessageForm, writeMessage } from '../../src/format/message-to-json.ts';
import { encodeReference } from '../../src/format/reference.ts';
import { keyRule } from '../../src/format/resolve-key.ts';
import { segmentId, type UploadId } from '../../src/model/ids.ts';
import type { Header, Message, StoredMessage } from '../../src/model/message.ts';
import { arbitraryMessage } from './arbitrary-message.ts';
import { bytesOf, latin1, parse } from './both-routes.ts';

const T = 1_700_000_000_000;
const kind = (word: string): Header => ({ name: 'kelp-kind', value: bytesOf(word) });

function written(message: StoredMessage, form?: MessageForm): string {
  const writer = writeJson(0);
  writeMessage(writer, message, form);
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(writtenJson(writer));
}

function stored(message: Partial<Message>): StoredMessage {
  return { offset: 7, partition: 3265, key: bytesOf('a'), value: bytesOf('x'), headers: [], timestampMs: T, ...message };
}

const shape = (payload: string, headers = '[]'): string =>
  `{"offset":7,"partition":3265,"key":"a",${payload},"headers":${headers},"timestamp":${T}}`;

describe('messages as they are read', () => {
  test('have their members in order, the segment first where it is asked for', () => {
    expect(written(stored({ headers: [kind('text')] }))).toBe(shape('"text":"x"'));
    expect(written(stored({ headers: [kind('text')] }), { segment: segmentId(1) })).toBe(
      shape('"text":"x"').replace('{', '{"segment":"s0000001",'),
    );
    const last = { ...stored({ headers: [] }), offset: Number.MAX_SAFE_INTEGER };
    expect(written(last)).toContain('"offset":9007199254740991,');
  });

  test('J-05 a JSON value is the stored text', () => {
    const value = '{"b":1, "id":9007199254740993,"z":-0,"one":1.0,\r\n "huge":400000000000000000001,"inf":1e400}';
    const message = stored({ value: bytesOf(value), headers: [kind('json')] });
    expect(written(message)).toBe(shape(`"value":${value}`));
    expect(written(message, { oneLine: true })).toBe(shape(`"value":${value.replace('\r\n', '  ')}`));
  });

  test('J-07 null, empty and no value differ', () => {
    expect(written(stored({ value: bytesOf('null'), headers: [kind('json')] }))).toBe(shape('"value":null'));
    expect(written(stored({ value: bytesOf(''), headers: [kind('text')] }))).toBe(shape('"text":""'));
    expect(written(stored({ value: bytesOf('') }))).toBe(shape('"bytes":""'));
    expect(written(stored({ value: null }))).toBe(shape('"tombstone":true'));
  });

  test('J-08 headers are a list, in order, with all repeats', () => {
    const headers = [
      { name: 'a', value: bytesOf('1') },
      { name: 'a', value: bytesOf('2,3') },
      { name: 'A', value: bytesOf('4') },
      { name: '', value: bytesOf('5') },
      { name: 'b', value: null },
      { name: 'b', value: bytesOf('') },
      { name: 'c"\n', value: latin1('\xff\0') },
    ];
    expect(written(stored({ headers }))).toBe(
      shape('"bytes":"eA=="', '[["a","1"],["a","2,3"],["A","4"],["","5"],["b",null],["b",""],["c\\"\\n",{"bytes":"/wA="}]]'),
    );
  });

  test('J-02 a key that is not UTF-8 is keyBytes', () => {
    expect(written(stored({ key: latin1('\xff\xfe') }))).toContain('"keyBytes":"//4=","bytes"');
    expect(written(stored({ key: bytesOf('') }))).toContain('"key":"","bytes"');
    expect(written(stored({ key: bytesOf('a\0"\u{1f695}') }))).toContain('"key":"a\\u0000\\"\u{1f695}","bytes"');
  });

  test.each<[name: string, value: Uint8Array, headers: Header[]]>([
    ['JSON that is none', bytesOf('1},{"key":"forged"'), [kind('json')]],
    ['JSON with something behind it', bytesOf('1 2'), [kind('json')]],
    ['JSON with half a character', bytesOf('"\\ud800"'), [kind('json')]],
    ['JSON that is not UTF-8', latin1('"\xc3"'), [kind('json')]],
    ['no JSON at all', bytesOf(''), [kind('json')]],
    ['text that is not UTF-8', latin1('na\xc3'), [kind('text')]],
    ['an upload that nobody has looked up', bytesOf('{}'), [kind('upload')]],
    ['a kind that nobody knows', bytesOf('x'), [kind('yaml')]],
    ['an empty kind', bytesOf('1'), [{ name: 'kelp-kind', value: null }]],
    ['two kinds', bytesOf('1'), [kind('json'), kind('json')]],
    ['a kind in other letters', bytesOf('1'), [{ name: 'Kelp-Kind', value: bytesOf('json') }]],
  ])('what is stored as %s is bytes, and its header is seen', (_name, value, headers) => {
    const read = JSON.parse(written(stored({ value, headers }))) as Record<string, unknown>;
    expect(read).toEqual({
      offset: 7,
      partition: 3265,
      key: 'a',
      bytes: Buffer.from(value).toString('base64'),
      headers: headers.map((header) => [header.name, header.value && Buffer.from(header.value).toString()]),
      timestamp: T,
    });
  });

  test('a reference has where its bytes are, or the bytes, and its kind is not seen', () => {
    const reference = { upload: 'u00hvd5k0123abcd' as UploadId, bytes: 2, sha256: 'ab'.repeat(32), contentType: 'a/b;c="d\\"e"' };
    const message = stored({ value: encodeReference(reference), headers: [{ name: 'h', value: null }, kind('upload')] });
    const members = `"upload":"u00hvd5k0123abcd","bytes":2,"sha256":"${reference.sha256}","contentType":"a/b;c=\\"d\\\\\\"e\\""`;
    const url = 'https://s/uploads/t/u?a="b"';
    expect(written(message, { reference: { reference, url } })).toBe(
      shape(`"reference":{${members},"url":"https://s/uploads/t/u?a=\\"b\\""}`, '[["h",null]]'),
    );
    expect(written(message, { reference: { reference, content: bytesOf('hi') } })).toBe(
      shape(`"reference":{${members},"content":"aGk="}`, '[["h",null]]'),
    );
  });

  test('a tombstone shows a kind that has nothing to say', () => {
    expect(written(stored({ value: null, headers: [kind('json')] }))).toBe(shape('"tombstone":true', '[["kelp-kind","json"]]'));
  });

  test('of every shape can be published as they were read', () => {
    const payload = fc.oneof(
      fc.jsonValue({ stringUnit: 'grapheme' }).map((json) => ({ value: bytesOf(JSON.stringify(json, null, 1)), kinds: [kind('json')] })),
      fc.string({ unit: 'binary' }).map((text) => ({ value: bytesOf(text), kinds: [kind('text')] })),
      fc.uint8Array().map((value) => ({ value, kinds: [] })),
      fc.constant({ value: null, kinds: [] }),
    );
    fc.assert(
      fc.property(arbitraryMessage, payload, (message, { value, kinds }) => {
        const first = written(stored({ ...message, value, headers: [...message.headers, ...kinds] }));
        const { offset, partition, keyBytes, ...published } = JSON.parse(first) as Record<string, unknown>;
        // A key that is not UTF-8 comes in batches only.
        if (keyBytes !== undefined) published['key'] = '';
        const [again] = parseLines(bytesOf(JSON.stringify(published)), { keyRule: keyRule('key'), nowMs: 0 });
        expect([offset, partition]).toEqual([7, 3265]);
        expect(JSON.parse(written(stored({ ...again, key: message.key })))).toEqual(JSON.parse(first));
      }),
    );
  });

  test('on one line have no line break, whatever is in them', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.string({ unit: 'binary' }), (json, text) => {
        const headers = [{ name: text, value: bytesOf(text) }, kind('json')];
        const line = written(stored({ key: bytesOf(text), value: bytesOf(JSON.stringify(json, null, '\t')), headers }), { oneLine: true });
        expect(line).not.toMatch(/[\r\n]/);
        expect((JSON.parse(line) as { value: unknown }).value).toEqual(JSON.parse(JSON.stringify(json)));
      }),
    );
  });

  test('come back from what was sent', () => {
    for (const payload of ['"value":{"a":[1, 2]}', '"text":"\\u00e4\\ud83d\\ude95"', '"bytes":"/wDDKA=="', '"tombstone":true']) {
      const sent = parse(`{"key":"a",${payload},"headers":[["h","1"],["h",null]],"timestamp":0}`);
      expect(written({ ...stored({}), ...sent })).toBe(
        `{"offset":7,"partition":3265,"key":"a",${payload.replace('\\u00e4\\ud83d\\ude95', '\u00e4\u{1f695}')},"headers":[["h","1"],["h",null]],"timestamp":0}`,
      );
    }
  });
});
