import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { verifyBatch } from '../../src/format/record-batch-header.ts';
import type { Compression } from '../../src/ports/compression.ts';

export const REFERENCES = { accept: 'application/vnd.kelp.references+json' } as const;

export type StretchReference = {
  readonly segment: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
  readonly firstOffset: number;
  readonly count: number;
  readonly batches: readonly { readonly firstOffset: number; readonly count: number; readonly bytes: number; readonly crc: number }[];
};

export type Followed = { readonly segment: string; readonly offset: number; readonly value: string };

export type Follow = {
  /** Sends exactly this, without a token; the status and what came. */
  readonly send: (request: Pick<StretchReference, 'method' | 'url' | 'headers'>) => Promise<{ status: number; body: Uint8Array }>;
  readonly compression: Compression;
};

/** The messages that a page of references tells of, got as PROTOCOL.md says; throws where anything differs from what it promises. */
export async function followReferences({ send, compression }: Follow, references: readonly StretchReference[]): Promise<Followed[]> {
  const followed: Followed[] = [];
  for (const reference of references) {
    const { status, body } = await send(reference);
    if (status !== 206) throw new Error(`the store answered ${status}`);
    if (body.length !== reference.bytes) throw new Error(`${body.length} bytes came of ${reference.bytes}`);
    const messages: Followed[] = [];
    let at = 0;
    for (const { firstOffset, count, bytes, crc } of reference.batches) {
      const batch = body.subarray(at, at + bytes);
      const header = verifyBatch(batch);
      if (header.crc !== crc || header.count !== count) throw new Error(`the batch at ${firstOffset} is another one`);
      for (const { offset, value } of await decodeBatch(batch, firstOffset, compression)) {
        messages.push({ segment: reference.segment, offset, value: Buffer.from(value ?? []).toString() });
      }
      at += bytes;
    }
    if (at !== reference.bytes) throw new Error(`the batches have ${at} of ${reference.bytes} bytes`);
    const end = reference.firstOffset + reference.count;
    if (messages.at(-1)?.offset !== end - 1) throw new Error(`the last message isn't the one before ${end}`);
    followed.push(...messages.filter(({ offset }) => offset >= reference.firstOffset));
  }
  return followed;
}
