import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import type { Bytes } from '../../model/message.ts';
import { damagedFile } from './damaged-file.ts';

/** Unpacks one zstd frame to `length` bytes, or fewer. Error `invalid`: damaged, or more would come out. */
export type Unpack = (bytes: Bytes, length: number) => Bytes | Promise<Bytes>;

/** How often a column's values may repeat or be missing, at most: the bounds of its levels. */
export type Levels = { readonly repetition: 0 | 1; readonly definition: 0 | 1 | 2 };

/** A column chunk's only page. One level an entry, and a value for each entry whose definition is the highest; no levels: all are. */
export type ColumnPage = {
  readonly entries: number;
  readonly repetition: Uint8Array | undefined;
  readonly definition: Uint8Array | undefined;
  readonly valueCount: number;
  /** Encoded. */
  readonly values: Bytes;
};

export const PLAIN = 0;
export const DELTA_BINARY_PACKED = 5;

const NO_VALUES = new Uint8Array(0);

type Header = {
  readonly field_1?: number;
  readonly field_2?: number;
  readonly field_3?: number;
  readonly field_8?: { readonly [field: `field_${number}`]: unknown };
};

/** The page that a chunk consists of. `encoding`: of its values, as FORMAT.md has it. Error `corrupt`: it is another one. */
export async function readPage(
  unpack: Unpack,
  chunk: Bytes,
  { levels, encoding }: { readonly levels: Levels; readonly encoding: number },
): Promise<ColumnPage> {
  const reader = { view: new DataView(chunk.buffer, chunk.byteOffset, chunk.length), offset: 0 };
  const header = deserializeTCompactProtocol(reader) as Header;
  const page = header.field_8;
  if (page?.['field_4'] !== encoding || reader.offset + (header.field_3 ?? 0) !== chunk.length) throw damagedFile('it has other pages');
  const number = (field: `field_${number}`): number => Number(page[field] ?? 0);
  const entries = number('field_1');
  const definitionBytes = number('field_5');
  const repetitionBytes = number('field_6');
  const repetition = readLevels(reader, levels.repetition, { entries, bytes: repetitionBytes });
  const definition = readLevels(reader, levels.definition, { entries, bytes: definitionBytes });
  const length = (header.field_2 ?? 0) - definitionBytes - repetitionBytes;
  const values = length === 0 ? NO_VALUES : await unpack(chunk.subarray(reader.offset), length);
  if (values.length !== length) throw damagedFile('a page unpacks to another length');
  return {
    entries,
    repetition,
    definition,
    valueCount: entries - number('field_2'),
    values,
  };
}

type Reader = Parameters<typeof readRleBitPackedHybrid>[0];

function readLevels(
  reader: Reader,
  highest: number,
  { entries, bytes }: { readonly entries: number; readonly bytes: number },
): Uint8Array | undefined {
  if (highest === 0) return undefined;
  const levels = new Uint8Array(entries);
  readRleBitPackedHybrid(reader, highest > 1 ? 2 : 1, levels, bytes);
  return levels;
}
