import { expect, test } from 'vitest';
import { caught, envelope, headersOf, lines, parse, refusalOf } from './both-routes.ts';

const ID = 'u00hvd5k0123abcd';
const OTHER = 'u00hvd5k0123abce';

test('a message may have an upload as its value, which is empty until that is looked up', () => {
  const message = parse(`{"key":"a","upload":"${ID}","headers":{"h":"1"},"timestamp":7}`);
  expect(message).toMatchObject({ upload: ID, timestampMs: 7 });
  expect(message.value).toHaveLength(0);
  expect(headersOf(message)).toEqual([
    ['h', '1'],
    ['kelp-kind', 'upload'],
  ]);
  expect('upload' in parse('{"key":"a","text":"x"}')).toBe(false);
});

test.each([
  '"http://169.254.169.254/latest/meta-data"',
  '"https://storage.example/uploads/tabcdefghijklmno/u00hvd5k0123abcd"',
  '"file:///etc/passwd"',
  '"uploads/tabcdefghijklmno/u00hvd5k0123abcd"',
  `"${ID}x"`,
  `"${ID.slice(0, -1)}"`,
  '"U00HVD5K0123ABCD"',
  '"o00hvd5k0123abcd"',
  '"../u00hvd5k0123abc"',
  '""',
  'null',
  'true',
  '1',
  `["${ID}"]`,
  `{"upload":"${ID}"}`,
])('A8 an upload %s is refused', (upload) => {
  expect(refusalOf(`{"key":"a","upload":${upload}}`)).toMatchObject({ code: 'invalid-upload', field: 'messages[1].upload', line: 1 });
});

test.each(['"value":1', '"text":""', '"bytes":""', '"tombstone":true'])('beside %s there is no upload', (payload) => {
  expect(refusalOf(`{"key":"a",${payload},"upload":"${ID}"}`)).toMatchObject({ code: 'invalid-message', field: 'messages[1].upload' });
});

test('an upload stands in a message once', () => {
  expect(refusalOf(`{"key":"a","upload":"${ID}","upload":"${ID}"}`)).toMatchObject({ code: 'invalid-json', field: 'messages[1].upload' });
});

test('an upload stands in a request once', () => {
  const message = (id: string): string => `{"key":"a","upload":"${id}"}`;
  const twice = [message(ID), message(OTHER), '{"key":"a","text":"x"}', message(ID)];
  expect(caught(() => envelope(`{"messages":[${twice.join(',')}]}`))).toMatchObject({
    kind: 'invalid',
    code: 'invalid-upload',
    field: 'messages[3].upload',
  });
  expect(caught(() => lines(twice.join('\n')))).toMatchObject({ code: 'invalid-upload', field: 'upload', extra: { line: 4 } });
  expect(envelope(`{"messages":[${twice.slice(0, 3).join(',')}]}`).map(({ upload }) => upload)).toEqual([ID, OTHER, undefined]);
});

test('an upload has no value in which a key could be found; a header has', () => {
  const message = `{"upload":"${ID}","headers":{"tenant":"a"}}`;
  expect(caught(() => envelope(`{"messages":[${message}]}`, { pointer: '/id' }))).toMatchObject({
    code: 'invalid-key',
    field: 'messages[0].upload',
    extra: { pointer: '/id' },
  });
  expect(Buffer.from(parse(message, { header: 'tenant' }).key).toString()).toBe('a');
});
