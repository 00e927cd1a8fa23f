import type { TopicId, UploadId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Reference } from '../model/upload.ts';

/** What stored messages refer to, for those who read them. */
export type References = {
  /** Where the bytes of an upload are for anybody, for REFERENCE_MS. Nothing is asked of the store. */
  url(topic: TopicId, upload: UploadId): string;
  /**
   * The bytes of an upload, which have the length and the hash of the reference. Error `corrupt` (extra: object): they are gone, or
   * others.
   */
  content(topic: TopicId, reference: Reference, signal: AbortSignal): Promise<Bytes>;
};
