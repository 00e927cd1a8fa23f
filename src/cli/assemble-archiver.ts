import { createCompression } from '../adapters/system/compression.ts';
import { createFileCompression } from '../adapters/system/file-compression.ts';
import { wrapStore, type WrapDeps, wrapTable } from '../adapters/wrap/stores.ts';
import { type Watch, watchedStore, watchedTable } from '../adapters/wrap/watched.ts';
import { type Archiving, createArchiving } from '../broker/create-archiving.ts';
import { FILE_ATTEMPT_MS_MAX } from '../model/archive-limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Lifetimes } from './lifetimes.ts';

export type ArchiverParts = WrapDeps & {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  /** Is told of each call, where somebody has to know when all are over. */
  readonly watch?: Watch;
};

/** What archives, in every runtime, over the given adapters. */
export function assembleArchiver({ fileAgeMs, fileBytesMax }: Lifetimes, parts: ArchiverParts): Archiving {
  const { clock, random, telemetry, watch = unwatched } = parts;
  const wrapping = { clock, random, telemetry };
  return createArchiving({
    ...wrapping,
    table: watchedTable(wrapTable(parts.table, wrapping), watch),
    store: watchedStore(wrapStore(parts.store, wrapping, FILE_ATTEMPT_MS_MAX), watch),
    compression: createCompression({ codec: 'none' }),
    fileCompression: createFileCompression(),
    fileAgeMs,
    fileBytesMax,
  });
}

const unwatched: Watch = (call) => call;
