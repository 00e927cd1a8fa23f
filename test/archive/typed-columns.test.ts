import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { writeFile } from '../../src/archive/files/write-file.ts';
import { parseTopicSchema } from '../../src/format/topic-schema.ts';
import { encodeUtf8 } from '../../src/format/utf8.ts';
import { COLUMN_TYPES, type ColumnType, type TypedColumn } from '../../src/model/archive.ts';
import { ROW_GROUP_MESSAGES_MAX } from '../../src/model/archive-limits.ts';
import { JSON_DEPTH_MAX } from '../../src/model/limits.ts';
import { KIND_HEADER, type Message } from '../../src/model/message.ts';
import { arbitraryMessages } from '../format/arbitrary-message.ts';
import { archived, compression, fileOf, jsonMessage, openFile, readAll, write } from './some-file.ts';

type Cell = string | bigint | number | boolean | null;
/** What stands for a property in the JSON text, and what the column has of it; `undefined` in place of that: it does not fit. */
type Part = { readonly json?: string; readonly cell: Cell | undefined };

const column = (property: string, type: ColumnType, more: Partial<TypedColumn> = {}): TypedColumn => ({
  property,
  column: `value_${property}`,
  type,
  required: false,
  nullable: false,
  ...more,
});

/** The typed columns of a whole file, by a reader that is not the product's. */
async function cellsOf(object: Uint8Array, columns: readonly TypedColumn[]): Promise<Cell[][]> {
  const file = new Uint8Array(object).buffer;
  const compressors = { ZSTD: compression.decompress };
  const rows = await parquetReadObjects({ file, columns: columns.map((one) => one.column), compressors });
  return rows.map((row) => columns.map((one) => (row[one.column] as Cell | undefined) ?? null));
}

async function writeTyped(messages: readonly Message[], columns: readonly TypedColumn[], pieceSize = 7): Promise<Uint8Array> {
  const rows = archived(messages);
  const pieces: Uint8Array[] = [];
  for await (const piece of writeFile(compression, { ...fileOf(rows), columns }, inPieces(rows, pieceSize))) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* inPieces<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

const messageOf = (value: string | null, headers: Message['headers'] = []): Message => ({
  key: encodeUtf8('a'),
  value: value === null ? null : encodeUtf8(value),
  headers,
  timestampMs: 0,
});

async function written(columns: readonly TypedColumn[], messages: readonly Message[]): Promise<{ cells: Cell[][]; misfits: number }> {
  const object = await writeTyped(messages, columns);
  return { cells: await cellsOf(object, columns), misfits: openFile(object).misfits };
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const FITTING: Readonly<Record<ColumnType, fc.Arbitrary<Part>>> = {
  string: text.map((cell) => ({ json: JSON.stringify(cell), cell })),
  integer: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((cell) => ({ json: String(cell), cell })),
  number: fc
    .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer())
    .map((cell) => ({ json: JSON.stringify(cell), cell: Object.is(cell, -0) ? 0 : cell })),
  boolean: fc.boolean().map((cell) => ({ json: String(cell), cell })),
};
const OTHERS: Readonly<Record<ColumnType, readonly string[]>> = {
  string: ['1', 'true', '[]', '{}', '["a"]'],
  integer: ['"1"', '1.5', 'true', '[1]', '9223372036854775808', '-9223372036854775809', '{"a":1}'],
  number: ['"1"', 'false', '1e999', '{}', '[1]'],
  boolean: ['0', '"true"', '[]', '{}'],
};

const arbitraryPart = ({ type, required, nullable }: TypedColumn): fc.Arbitrary<Part> =>
  fc.oneof(
    { weight: 20, arbitrary: FITTING[type] },
    { weight: 1, arbitrary: fc.constantFrom(...OTHERS[type]).map((json) => ({ json, cell: undefined })) },
    { weight: 1, arbitrary: fc.constant({ json: 'null', cell: nullable ? null : undefined }) },
    { weight: 1, arbitrary: fc.constant({ cell: required ? undefined : null }) },
  );

/** A value of these columns in any order and spacing, with other members between them, and its row. */
const arbitraryValue = (columns: readonly TypedColumn[]): fc.Arbitrary<{ json: string; row: (Cell | undefined)[] }> => {
  const parts = fc.tuple(...columns.map(arbitraryPart));
  const others = fc.array(fc.tuple(fc.constantFrom('other', 'Value', 'größe', 'a\\u0062'), fc.jsonValue()), { maxLength: 3 });
  const blank = fc.constantFrom('', ' ', '\n', '\t ');
  return fc.tuple(parts, others, blank, fc.infiniteStream(fc.nat())).map(([found, more, space, numbers]) => {
    const members = found.flatMap(({ json }, at) =>
      json === undefined ? [] : [`"${columns[at]?.property ?? ''}"${space}:${space}${json}`],
    );
    members.push(...more.map(([name, value]) => `"${name}":${JSON.stringify(value)}`));
    const shuffled = members.map((member) => ({ member, at: numbers.next().value })).toSorted((a, b) => a.at - b.at);
    return { json: `${space}{${shuffled.map(({ member }) => member).join(`${space},`)}${space}}`, row: found.map(({ cell }) => cell) };
  });
};

const arbitraryColumns: fc.Arbitrary<TypedColumn[]> = fc.uniqueArray(
  fc
    .record({
      property: fc.stringMatching(/^[A-Za-z_][a-z_]{0,5}$/),
      type: fc.constantFrom(...COLUMN_TYPES),
      required: fc.boolean(),
      nullable: fc.boolean(),
    })
    .map(({ property, type, ...more }) => column(property, type, more)),
  { minLength: 1, maxLength: 8, selector: ({ property }) => property.toLowerCase() },
);

describe('typed columns', () => {
  test('have what JSON says, exactly, or nothing of a value that does not fit', async () => {
    const arbitrary = arbitraryColumns.chain((columns) =>
      fc.record({ columns: fc.constant(columns), values: fc.array(arbitraryValue(columns), { minLength: 1, maxLength: 12 }) }),
    );
    await fc.assert(
      fc.asyncProperty(arbitrary, async ({ columns, values }) => {
        const isOther = columns.some(({ property }) => ['other', 'value', 'ab'].includes(property.toLowerCase()));
        fc.pre(!isOther);
        const { cells, misfits } = await written(
          columns,
          values.map(({ json }) => messageOf(json)),
        );
        const nothing = columns.map(() => null);
        expect(cells).toEqual(values.map(({ row }) => (row.includes(undefined) ? nothing : row)));
        expect(misfits).toBe(values.filter(({ row }) => row.includes(undefined)).length);
      }),
      { numRuns: 300 },
    );
  });

  test('leave all else as it is without them', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryMessages, arbitraryColumns, async (messages, columns) => {
        const object = await writeTyped(messages, columns);
        expect(await readAll(object)).toEqual(await readAll(await write(archived(messages))));
      }),
    );
  });

  test.each<[string, string, boolean]>([
    ['an array', '[{"a":1}]', false],
    ['a scalar', '1', false],
    ['no JSON', '{"a":1', false],
    ['something behind it', '{"a":1} x', false],
    ['nothing at all', '', false],
    ['a property twice', '{"a":1,"a":1}', false],
    ['a property twice, once with escapes', '{"a":1,"\\u0061":1}', false],
    ['another one twice', '{"b":1,"a":1,"b":2}', true],
    ['a property with escapes', '{"\\u0061":1}', true],
    ['the deepest nesting', `{"b":${'['.repeat(JSON_DEPTH_MAX - 1)}${']'.repeat(JSON_DEPTH_MAX - 1)},"a":1}`, true],
    ['one deeper than that', `{"b":${'['.repeat(JSON_DEPTH_MAX)}${']'.repeat(JSON_DEPTH_MAX)},"a":1}`, false],
    ['a lone surrogate in another member', '{"a":1,"b":"\\ud800"}', false],
  ])('of a value that has %s', async (_, json, fits) => {
    const result = await written([column('a', 'integer')], [messageOf(json), messageOf('{"a":7}')]);
    expect(result).toEqual({ cells: [[fits ? 1n : null], [7n]], misfits: fits ? 0 : 1 });
  });

  test('have nothing of tombstones and references, which are no misfits', async () => {
    const required = column('upload', 'string', { required: true });
    const reference = (kind: string) => [{ name: KIND_HEADER, value: encodeUtf8(kind) }];
    const messages = [messageOf(null), messageOf('{"upload":"u"}', reference('upload')), messageOf('{"upload":"u"}', reference('text'))];
    expect(await written([required], messages)).toEqual({ cells: [[null], [null], ['u']], misfits: 0 });
  });

  test('are what a schema says, over several row groups', async () => {
    const { columns } = parseTopicSchema(
      encodeUtf8(
        '{"properties":{"number":{"type":"integer"},"delay":{"type":["number","null"]},"note":{"type":"object"}},"required":["delay"]}',
      ),
    );
    expect(columns).toEqual([column('number', 'integer'), column('delay', 'number', { required: true, nullable: true })]);
    const count = ROW_GROUP_MESSAGES_MAX + 5;
    const isMisfit = (number: number): boolean => number === 0 || number === count - 1;
    const { cells, misfits } = await written(
      columns,
      Array.from({ length: count }, (_, number) => (isMisfit(number) ? messageOf('{"number":1}') : jsonMessage(number, 10))),
    );
    const cellsAt = (number: number): Cell[] => (isMisfit(number) ? [null, null] : [BigInt(number), (number * 31) % 240]);
    expect(cells).toEqual(Array.from({ length: count }, (_, number) => cellsAt(number)));
    expect(misfits).toBe(2);
  });
});
