import type { KelpError } from '../model/errors.ts';
import type { TopicId, UploadId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Reference } from '../model/upload.ts';

/** What stored messages refer to, for those who read them. */
export type References = {
  /** Where the bytes of an upload are for anybody, for REFERENCE_MS. Nothing is asked of the store. */
  url(topic: TopicId, upload: UploadId): string;
  /**
   * The bytes of each of these, which have the length and the hash of the reference. In place of those that are gone, or others, an
   * error `corrupt` (extra: object).
   */
  contents(topic: TopicId, references: readonly Reference[], signal: AbortSignal): Promise<readonly (Bytes | KelpError)[]>;
};
