import type { SegmentId } from '../model/ids.ts';
import type { StoredMessage } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { FileCompression } from '../ports/file-compression.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { ArchivesDeps } from '../state/archives.ts';
import type { Heads } from '../state/heads.ts';
import type { OneAtATime } from './one-at-a-time.ts';

/** Offsets `first` to `last` of a segment, both inside. */
export type Stretch = { readonly segment: SegmentId; readonly first: number; readonly last: number };

/** Committed messages, wherever they lie. */
export type MessageSource = {
  /**
   * Those of a stretch, in order, in pieces, without those that are quarantined. Errors as a reader's (`corrupt` names what is damaged);
   * `unavailable`/`unchecked`: batches of an upload were not looked at yet, so nobody knows which messages there are.
   */
  read(topic: Topic, stretch: Stretch, signal: AbortSignal): AsyncIterable<readonly StoredMessage[]>;
};

/**
 * U2: writes that each upload is submitted which an entry of the segment that begins at or below `last` names, as far as that isn't
 * written. Once it is done, an upload that is still being submitted there never was.
 */
export type SettleSubmitting = (
  topic: Topic,
  upTo: { readonly segment: SegmentId; readonly last: number },
  signal: AbortSignal,
) => Promise<void>;

/** Reads of both stores are retried, and attempts bounded, by whoever made them. */
export type ArchiveDeps = ArchivesDeps & {
  readonly store: ObjectStore;
  readonly heads: Heads;
  readonly telemetry: Telemetry;
  readonly compression: FileCompression;
  readonly messages: MessageSource;
  readonly settleSubmitting: SettleSubmitting;
  /** Files are written one after the other, since each is in memory as a whole. */
  readonly oneAtATime: OneAtATime;
  /** Of batches, that a file has at most unless one entry has more. */
  readonly fileBytesMax: number;
  /** How old the first message of a file may become. */
  readonly fileAgeMs: number;
};
