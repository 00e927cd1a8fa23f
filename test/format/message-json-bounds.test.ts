import { describe, expect, test } from 'vitest';
import { NOW, caught, envelope, lines, parse, refusalOf } from './both-routes.ts';

const many = (count: number): string[] => Array.from({ length: count }, () => '{"key":"a","text":""}');
const deep = (depth: number): string => `{"key":"a","value":${'['.repeat(depth)}${']'.repeat(depth)}}`;

describe('bounds of messages as JSON', () => {
  test('J-09 a timestamp is kept, also 0 and the last one', () => {
    expect(parse('{"key":"a","text":"x"}').timestampMs).toBe(NOW);
    expect(parse('{"key":"a","text":"x","timestamp":0}').timestampMs).toBe(0);
    expect(parse('{"key":"a","text":"x","timestamp":253402300799999}').timestampMs).toBe(253_402_300_799_999);
  });

  test.each([
    '-1',
    '1.5',
    '1.0',
    '1e3',
    '-0',
    '"1700000000000"',
    'null',
    'true',
    '[0]',
    '253402300800000',
    '8640000000000001',
    '9007199254740993',
    `1${'0'.repeat(400)}`,
  ])('J-09 a timestamp %s is refused', (timestamp) => {
    expect(refusalOf(`{"key":"a","text":"x","timestamp":${timestamp}}`)).toMatchObject({
      code: 'invalid-timestamp',
      field: 'messages[1].timestamp',
    });
  });

  test.each([
    ['value', (size: number) => `"value":"${'x'.repeat(size - 2)}"`, 'value'],
    ['text', (size: number) => `"text":"${'x'.repeat(size)}"`, 'text'],
    ['text of two-byte characters', (size: number) => `"text":"${'ö'.repeat(size >> 1)}${'x'.repeat(size & 1)}"`, 'text'],
    ['escaped text', (size: number) => `"text":"${'\\u0041'.repeat(size)}"`, 'text'],
    ['bytes', (size: number) => `"bytes":"${Buffer.alloc(size).toString('base64')}"`, 'bytes'],
  ])('J-14 limit of a %s', (_name, payload, field) => {
    expect(parse(`{"key":"a",${payload(1_048_576)}}`).value).toHaveLength(1_048_576);
    expect(refusalOf(`{"key":"a",${payload(1_048_577)}}`)).toMatchObject({ code: 'too-large', field: `messages[1].${field}` });
  });

  test('J-14 limit of a key counts bytes', () => {
    for (const key of ['x'.repeat(4096), 'ö'.repeat(2048)]) {
      expect(parse(`{"key":"${key}","text":""}`).key).toHaveLength(4096);
      expect(refusalOf(`{"key":"${key}x","text":""}`)).toMatchObject({ code: 'invalid-key', field: 'messages[1].key' });
      expect(caught(() => lines(`{"value":{"k":"${key}x"}}`, { pointer: '/k' }))).toMatchObject({ code: 'invalid-key', field: 'value' });
    }
    expect(refusalOf(`{"key":"${'ö'.repeat(4096)}","text":""}`)).toMatchObject({ code: 'invalid-key' });
  });

  test('J-14 limit of messages', () => {
    expect(envelope(`{"messages":[${many(10_000).join(',')}]}`)).toHaveLength(10_000);
    expect(lines(many(10_000).join('\n'))).toHaveLength(10_000);
    expect(caught(() => envelope(`{"messages":[${many(10_001).join(',')}]}`))).toMatchObject({
      code: 'invalid-messages',
      field: 'messages',
    });
    expect(caught(() => lines(many(10_001).join('\n')))).toMatchObject({ code: 'invalid-messages', field: 'messages' });
    const late = [...many(9_999), `{"key":"a","text":"${'x'.repeat(1_048_577)}"}`];
    expect(caught(() => envelope(`{"messages":[${late.join(',')}]}`))).toMatchObject({ code: 'too-large', field: 'messages[9999].text' });
    expect(caught(() => lines(late.join('\n')))).toMatchObject({ code: 'too-large', field: 'text', extra: { line: 10_000 } });
  });

  test('A16 depth is capped in a value, and recursion with it', () => {
    expect(parse(deep(64)).value).toHaveLength(128);
    expect(refusalOf(deep(65))).toMatchObject({ code: 'invalid-json', field: 'messages[1]' });
    expect(refusalOf(deep(100_000))).toMatchObject({ code: 'invalid-json' });
  });

  test.each([
    ['', 'invalid-message', 'messages'],
    ['null', 'invalid-message', 'messages'],
    ['[]', 'invalid-message', 'messages'],
    ['[{"key":"a","text":"x"}]', 'invalid-message', 'messages'],
    ['{}', 'invalid-message', 'messages'],
    ['{"messages":[]}', 'invalid-messages', 'messages'],
    ['{"messages":{}}', 'invalid-message', 'messages'],
    ['{"messages":null}', 'invalid-message', 'messages'],
    ['{"messages":[1]}', 'invalid-message', 'messages[0]'],
    ['{"messages":[null]}', 'invalid-message', 'messages[0]'],
    ['{"messages":[[]]}', 'invalid-message', 'messages[0]'],
    ['{"messages":[{"key":"a","text":1}]}', 'invalid-message', 'messages[0].text'],
    ['{"messages":[{"key":"a","bytes":null}]}', 'invalid-message', 'messages[0].bytes'],
    ['{"messages":[{"key":"a","text":"x"}],"more":1}', 'invalid-message', 'more'],
    ['{"key":"a","text":"x"}', 'invalid-message', 'key'],
    ['{"messages":[{"key":"a","text":"x"}],"messages":[]}', 'invalid-json', 'messages'],
    ['{"messages":[{"key":"a","text":"x"}]} x', 'invalid-json', undefined],
    ['{"messages":[{"key":"a","text":"x"}]}{}', 'invalid-json', undefined],
    ['{"messages":[{"key":"a","text":"x"},]}', 'invalid-message', 'messages[1]'],
    ['{"messages":[{"key":"a","text":"x"}', 'invalid-json', undefined],
    ['{"messages":[{"key":"a","text":"x}]}', 'invalid-json', 'messages[0]'],
  ])('an envelope %s is refused', (body, code, field) => {
    expect(caught(() => envelope(body))).toMatchObject({ kind: 'invalid', code, field });
  });

  test('lines end with a line feed, the last one may not', () => {
    const line = '{"key":"a","text":"x"}';
    for (const body of [line, `${line}\n`, `${line}\n${line}`, `${line}\r\n${line}\r\n`, ` ${line} \n`]) {
      expect(lines(body)).toHaveLength(body.split('a').length - 1);
    }
  });

  test.each([
    ['', 'invalid-messages', undefined],
    ['\n', 'invalid-message', 1],
    ['{"key":"a","text":"x"}\n\n', 'invalid-message', 2],
    ['{"key":"a","text":"x"}\n\r\n{"key":"a","text":"x"}', 'invalid-message', 2],
    ['{"key":"a","text":"x"}\n{"key":"a","text":', 'invalid-message', 2],
    ['{"key":"a",\n"text":"x"}', 'invalid-json', 1],
    ['{"key":"a","text":"x"} {"key":"a","text":"x"}', 'invalid-json', 1],
    ['{"key":"a","text":"x"}\n{"messages":[]}', 'invalid-message', 2],
  ])('lines %j are refused', (body, code, line) => {
    expect(caught(() => lines(body))).toMatchObject({ code, extra: line === undefined ? {} : { line } });
  });
});
