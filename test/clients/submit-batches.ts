import { createHash } from 'node:crypto';
import { splitBatches } from '../../src/format/record-batch-header.ts';

/** A client of one server, as the root. */
export type Call = (method: string, path: string, body?: unknown) => Promise<Response>;

/** What is to be uploaded: batches one behind the other, and of each the partitions of its records. */
export type BatchesToSubmit = {
  readonly topic: string;
  readonly segment: string;
  readonly bytes: Uint8Array;
  readonly partitions: readonly (readonly number[])[];
};

/** Uploads the batches by the URL that is given for it, and submits them; the last answer, whatever it is. */
export async function submitBatches(call: Call, { topic, segment, bytes, partitions }: BatchesToSubmit): Promise<Response> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const announced = await call('POST', `/v1/topics/${topic}/uploads`, { bytes: bytes.length, sha256 });
  if (announced.status !== 201) return announced;
  const { upload, url, method, headers } = (await announced.json()) as {
    upload: string;
    url: string;
    method: string;
    headers: Record<string, string>;
  };
  const sent = await fetch(url, { method, headers, body: Buffer.from(bytes) });
  if (!sent.ok) throw new Error(`the store answered ${sent.status}: ${await sent.text()}`);
  const batches = [...splitBatches(bytes)].map(({ start, bytes: { length }, header: { count, crc } }, index) => ({
    offset: start,
    bytes: length,
    count,
    crc,
    partitions: partitions[index] ?? [],
  }));
  return call('POST', `/v1/topics/${topic}/messages`, { batch: upload, segment, batches });
}
