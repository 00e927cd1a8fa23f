import { KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import type { Item } from '../ports/metadata-table.ts';
import { bytesField } from './item-fields.ts';

/** What one number takes: IEEE 754, big-endian. 32 bits round to seven digits. */
export type FloatBits = 32 | 64;

const BYTE_BITS = 8;

/** Numbers one behind the other: the table has whole numbers alone, and takes more room for each. */
export function packFloats(values: readonly number[], bits: FloatBits): Bytes {
  const bytes = new Uint8Array((values.length * bits) / BYTE_BITS);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) {
    if (bits === 64) view.setFloat64(index * 8, value);
    else view.setFloat32(index * 4, value);
  }
  return bytes;
}

/** Error `corrupt` where there are not `count` of them, or one is no number: it would spread into all that is made of it. */
export function floatsField(
  item: Item,
  name: string,
  { bits, count }: { readonly bits: FloatBits; readonly count: number },
): readonly number[] {
  const bytes = bytesField(item, name);
  if (bytes?.length !== (count * bits) / BYTE_BITS) throw damaged(name, `${bytes?.length ?? 'no'} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, index) => {
    const value = bits === 64 ? view.getFloat64(index * 8) : view.getFloat32(index * 4);
    if (!Number.isFinite(value)) throw damaged(name, String(value));
    return value;
  });
}

const damaged = (name: string, what: string): KelpError => new KelpError('corrupt', 'corrupt', `stored field ${name} is damaged (${what})`);
