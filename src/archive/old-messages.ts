import type { Topic } from '../model/topic.ts';
import { type FilesPage, type FilesWanted, listFiles } from './list-files.ts';
import { truncate, type TruncateDeps, type Truncated, type TruncateTo } from './retention/truncate.ts';

/** What may be asked of a topic's old messages, besides reading them. */
export type OldMessages = {
  /** As {@link listFiles}. */
  files(topic: Topic, wanted: FilesWanted, signal: AbortSignal): Promise<FilesPage>;
  /** As {@link truncate}. */
  truncate(topic: Topic, wanted: { readonly to: TruncateTo; readonly dryRun: boolean }, signal: AbortSignal): Promise<Truncated>;
};

export const createOldMessages = (deps: TruncateDeps): OldMessages => ({
  files: (topic, wanted, signal) => listFiles(deps, topic, wanted, signal),
  truncate: (topic, wanted, signal) => truncate(deps, { topic, ...wanted }, signal),
});
