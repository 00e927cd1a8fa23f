import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { UploadPayload } from './load.ts';
import { batchOf, randomMessages } from './payloads.ts';
import type { Segment } from './topic.ts';

/** Stands in an envelope where the upload's id belongs. */
export const UPLOAD_MARK = '@upload@';

const MEBIBYTE = 1_048_576;
/** Different uploads of batches that a load sends in turn. */
const UPLOADS = 4;

/** Uploads of so many record batches, each of which has 1,000 messages of 1 KiB, all of one segment. `messages`: of each. */
export async function batchUploads(
  dir: string,
  segment: Segment,
  batches: number,
): Promise<{ readonly payloads: readonly UploadPayload[]; readonly messages: number }> {
  assert(segment.lo === 0 && segment.hi === 65_535, 'random keys lie in any segment');
  const payloads: UploadPayload[] = [];
  let messages = 0;
  for (let upload = 0; upload < UPLOADS; upload += 1) {
    const contents = Array.from({ length: batches }, () => randomMessages());
    const bytes = Buffer.concat(await Promise.all(contents.map((content) => batchOf(content, 'none'))));
    const declared = [...splitBatches(bytes)].map(({ start, bytes: { length }, header: { count, crc } }, index) => ({
      offset: start,
      bytes: length,
      count,
      crc,
      partitions: contents[index]?.map(({ key }) => partitionOf(key)),
    }));
    const envelope = JSON.stringify({ batch: UPLOAD_MARK, segment: segment.segment, batches: declared });
    payloads.push(payloadOf({ dir, name: `upload-batches-${batches}-${upload}` }, { body: bytes, repeat: 1, envelope }));
    messages = contents.reduce((sum, content) => sum + content.length, 0);
  }
  return { payloads, messages };
}

/** One upload as the value of a message: random bytes, a mebibyte so many times. */
export function valueUpload(dir: string, mebibytes: number): UploadPayload {
  const envelope = JSON.stringify({ messages: [{ key: 'k', upload: UPLOAD_MARK }] });
  return payloadOf({ dir, name: `upload-value-${mebibytes}` }, { body: randomBytes(MEBIBYTE), repeat: mebibytes, envelope });
}

function payloadOf(
  { dir, name }: { readonly dir: string; readonly name: string },
  { body, repeat, envelope: text }: { readonly body: Uint8Array; readonly repeat: number; readonly envelope: string },
): UploadPayload {
  const [file, envelope] = [join(dir, name), join(dir, `${name}.json`)];
  writeFileSync(file, body);
  writeFileSync(envelope, text);
  const hash = createHash('sha256');
  for (let part = 0; part < repeat; part += 1) hash.update(body);
  return { file, repeat, bytes: body.length * repeat, sha256: hash.digest('hex'), envelope };
}
