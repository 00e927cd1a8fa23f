import { crc32c } from '../../src/format/crc32c-native.ts';

// An encoder of its own, by the format's description, that also makes what Kelp's never would: wrong counts, missing keys,
// flags, offsets out of order. Slow and plain on purpose.

export type RawRecord = {
  readonly key?: string | Uint8Array | null;
  readonly value?: string | Uint8Array | null;
  readonly headers?: readonly (readonly [name: string | Uint8Array | null, value: string | Uint8Array | null])[];
  readonly timestampDelta?: number;
  readonly offsetDelta?: number;
  /** Added to the record's true length. */
  readonly lengthOff?: number;
};

export type RawBatch = {
  readonly records?: readonly RawRecord[];
  /** Instead of the records' own encoding: compressed, or broken. */
  readonly body?: Uint8Array;
  readonly baseOffset?: bigint;
  readonly attributes?: number;
  readonly magic?: number;
  readonly count?: number;
  readonly lastOffsetDelta?: number;
  readonly baseTimestamp?: number;
  readonly maxTimestamp?: number;
  readonly crcOff?: number;
  readonly lengthOff?: number;
};

function varint(value: number | bigint): number[] {
  let zigzag = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  const bytes: number[] = [];
  for (; zigzag >= 128n; zigzag >>= 7n) bytes.push(Number(zigzag & 127n) | 128);
  return [...bytes, Number(zigzag)];
}

function field(content: string | Uint8Array | null | undefined): number[] {
  if (content === null || content === undefined) return varint(-1);
  const bytes = Buffer.from(content as Uint8Array);
  return [...varint(bytes.length), ...bytes];
}

export function rawRecords(records: readonly RawRecord[]): Uint8Array {
  return Buffer.concat(
    records.map((record, index) => {
      const headers = record.headers ?? [];
      const body = Buffer.from([
        0,
        ...varint(record.timestampDelta ?? 0),
        ...varint(record.offsetDelta ?? index),
        ...field(record.key === undefined ? 'a' : record.key),
        ...field(record.value),
        ...varint(headers.length),
        ...headers.flatMap(([name, value]) => [...field(name), ...field(value)]),
      ]);
      return Buffer.concat([Buffer.from(varint(body.length + (record.lengthOff ?? 0))), body]);
    }),
  );
}

export function rawBatch(batch: RawBatch): Uint8Array {
  const records = batch.records ?? [];
  const body = batch.body ?? rawRecords(records);
  const baseTimestamp = batch.baseTimestamp ?? 1_700_000_000_000;
  const highest = Math.max(baseTimestamp, ...records.map((record) => baseTimestamp + (record.timestampDelta ?? 0)));
  const bytes = Buffer.alloc(61 + body.length);
  bytes.writeBigInt64BE(batch.baseOffset ?? 0n, 0);
  bytes.writeInt32BE(bytes.length - 12 + (batch.lengthOff ?? 0), 8);
  bytes.writeInt8(batch.magic ?? 2, 16);
  bytes.writeUInt16BE(batch.attributes ?? 0, 21);
  bytes.writeInt32BE(batch.lastOffsetDelta ?? (batch.count ?? records.length) - 1, 23);
  bytes.writeBigInt64BE(BigInt(baseTimestamp), 27);
  bytes.writeBigInt64BE(BigInt(batch.maxTimestamp ?? highest), 35);
  bytes.writeBigInt64BE(-1n, 43);
  bytes.writeInt16BE(-1, 51);
  bytes.writeInt32BE(-1, 53);
  bytes.writeInt32BE(batch.count ?? records.length, 57);
  bytes.set(body, 61);
  bytes.writeUInt32BE((crc32c(bytes.subarray(21)) + (batch.crcOff ?? 0)) >>> 0, 17);
  return bytes;
}
