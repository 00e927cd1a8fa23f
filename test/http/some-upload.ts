import { hash } from 'node:crypto';
import { readBatchHeader } from '../../src/format/record-batch-header.ts';
import type { UploadContent } from '../../src/model/upload.ts';
import type { TestApp } from './test-app.ts';

export const contentOf = (body: Uint8Array, contentType = 'text/plain'): UploadContent => ({
  bytes: body.length,
  sha256: hash('sha256', body),
  contentType,
});

/** The answer's JSON. */
export async function announce(t: TestApp, topic: string, content: object): Promise<any> {
  const answer = await t.send('POST', `/v1/topics/${topic}/uploads`, { body: content });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.json;
}

/** An upload's id, its bytes sent to the store as a client does it. */
export async function uploaded(t: TestApp, topic: string, body: Uint8Array, contentType?: string): Promise<string> {
  const { upload, ...request } = await announce(t, topic, contentOf(body, contentType));
  const { status } = await t.presigner.send({ ...request, body }, new AbortController().signal);
  if (status !== 200) throw new Error(`the store says ${status}`);
  return upload as string;
}

/** What anybody gets by a URL. */
export async function fetched(t: TestApp, url: string): Promise<string> {
  const { status, body } = await t.presigner.send({ method: 'GET', url, headers: {} }, new AbortController().signal);
  return `${status} ${Buffer.from(body).toString()}`;
}

/** What an honest client says of batches that lie one behind the other; all their records have this partition. */
export function declared(batches: readonly Uint8Array[], partition: number): readonly Record<string, unknown>[] {
  let offset = 0;
  return batches.map((batch) => {
    const { bytes, count, crc } = readBatchHeader(batch);
    offset += bytes;
    return { offset: offset - bytes, bytes, count, crc, partitions: Array.from({ length: count }, () => partition) };
  });
}
