import { uploadKey } from '../../../src/format/item-key.ts';
import { encodeUpload } from '../../../src/format/upload-item.ts';
import type { UploadId } from '../../../src/model/ids.ts';
import type { Item, Key } from '../../../src/ports/metadata-table.ts';
import { TOPIC } from '../processes/broker.ts';

/** The item of an upload that nobody has submitted yet. */
export const stagedUpload = (upload: UploadId, expiresMs: number): readonly [Key, Item] => [
  uploadKey(TOPIC, upload),
  encodeUpload({
    upload,
    bytes: 1,
    sha256: '',
    contentType: '',
    state: 'staged',
    version: 1,
    createdMs: 0,
    expiresMs,
    checked: false,
    quarantined: [],
  }),
];
