import { describe, expect, test } from 'vitest';
import { headersOf, parse, refusalOf } from './both-routes.ts';

const repeated = (count: number, value: string): string => JSON.stringify(Array.from({ length: count }, () => ['h', value]));

describe('headers as JSON', () => {
  test('J-06 headers may have any name', () => {
    const message = parse('{"key":"a","bytes":"","headers":{"__proto__":"1","constructor":"2","toString":"3"}}');
    expect(headersOf(message)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['toString', '3'],
    ]);
  });

  test('J-08 headers keep order, repeats, letter case, bytes and no value', () => {
    const message = parse(
      '{"key":"a","text":"x","headers":[["a","1"],["a","2,3"],["A","4"],["","5"],["b",null],["b",""],["c",{"bytes":"/wA="}]]}',
    );
    expect(message.headers.map(({ name, value }) => [name, value && Buffer.from(value).toString('latin1')])).toEqual([
      ['a', '1'],
      ['a', '2,3'],
      ['A', '4'],
      ['', '5'],
      ['b', null],
      ['b', ''],
      ['c', '\xff\0'],
      ['kelp-kind', 'text'],
    ]);
  });

  test.each([
    ['1', 'headers'],
    ['null', 'headers'],
    ['"a"', 'headers'],
    ['[["a"]]', 'headers[0]'],
    ['[["a","b","c"]]', 'headers[0]'],
    ['[[]]', 'headers[0]'],
    ['[["a","b"],{"c":"d"}]', 'headers[1]'],
    ['[[1,"b"]]', 'headers[0]'],
    ['[[null,"b"]]', 'headers[0]'],
    ['{"a":1}', 'headers.a'],
    ['{"a":true}', 'headers.a'],
    ['{"a":["b"]}', 'headers.a'],
    ['{"a":{}}', 'headers.a'],
    ['{"a":{"bytes":1}}', 'headers.a'],
    ['{"a":{"bytes":"!"}}', 'headers.a'],
    ['{"a":{"bytes":"AA==","x":1}}', 'headers.a'],
    ['{"a":{"text":"b"}}', 'headers.a'],
    ['{"kelp-kind":"json"}', 'headers.kelp-kind'],
    ['[["a","b"],["kelp-kind","json"]]', 'headers[1]'],
    ['{"strange name":1}', 'headers[0]'],
  ])('headers %s are refused', (headers, field) => {
    expect(refusalOf(`{"key":"a","text":"x","headers":${headers}}`)).toMatchObject({
      code: 'invalid-headers',
      field: `messages[1].${field}`,
    });
  });

  test('J-14 limit of headers', () => {
    expect(parse(`{"key":"a","text":"","headers":${repeated(64, 'v')}}`).headers).toHaveLength(65);
    expect(refusalOf(`{"key":"a","text":"","headers":${repeated(65, 'v')}}`)).toMatchObject({
      code: 'invalid-headers',
      field: 'messages[1].headers',
    });
    expect(parse(`{"key":"a","text":"","headers":${repeated(1, 'v'.repeat(16_383))}}`).headers).toHaveLength(2);
    expect(refusalOf(`{"key":"a","text":"","headers":${repeated(1, 'v'.repeat(16_384))}}`)).toMatchObject({ code: 'invalid-headers' });
  });
});
