import { createLeanStore } from '../../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { archivedFilesPrefix, parseArchivedFileKey } from '../../../src/format/object-key.ts';
import type { TopicId } from '../../../src/model/ids.ts';
import type { ObjectPage } from '../../../src/ports/object-store.ts';
import type { StoreAddress } from '../../stack.ts';
import type { callerOf } from '../run-serve.ts';

export type ReadMessage = { readonly segment: string; readonly offset: number; readonly value: unknown };

/** A topic as its files and the API show it. */
export type LiveTopic = {
  readonly folder: string;
  /** Keys of its files by now, and their ranges. */
  files(): Promise<{ readonly keys: readonly string[]; readonly messages: number }>;
  /** Messages of which whoever archives them is done, so that he may be stopped: a file alone may still be on its way. */
  archived(): Promise<number>;
  /** What the API has behind what somebody has seen: from each segment's offset on, by default all. */
  readFrom(next: ReadonlyMap<string, number>): Promise<ReadMessage[]>;
};

const READ_MS = 30_000;

export async function liveTopic(call: ReturnType<typeof callerOf>, store: StoreAddress, name: string): Promise<LiveTopic> {
  const get = async <T>(path: string): Promise<T> => {
    const answer = await call('GET', `/v1/topics/${name}${path}`);
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const { id } = await get<{ readonly id: TopicId }>('');
  const prefix = archivedFilesPrefix(name, id);
  const bucket = createLeanStore({ ...store, clock: createSystemClock() });

  return {
    folder: prefix.replace(/\/$/, ''),
    async files() {
      const keys: string[] = [];
      let messages = 0;
      for (let after: string | undefined = ''; after !== undefined;) {
        const page: ObjectPage = await bucket.list(
          prefix,
          { limit: 1_000, ...(after === '' ? {} : { after }) },
          AbortSignal.timeout(READ_MS),
        );
        for (const { key } of page.objects) {
          const file = parseArchivedFileKey(key);
          if (file === undefined) throw new Error(`${key} is no file of the archive`);
          keys.push(key);
          messages += file.last - file.first + 1;
        }
        after = page.next;
      }
      return { keys, messages };
    },
    async archived() {
      type Listed = { readonly files: readonly { readonly firstOffset: number; readonly lastOffset: number }[] };
      const { files } = await get<Listed>('/files?limit=1000');
      return files.reduce((sum, { firstOffset, lastOffset }) => sum + lastOffset - firstOffset + 1, 0);
    },
    async readFrom(next) {
      const found: ReadMessage[] = [];
      const { segments } = await get<{ readonly segments: readonly { readonly segment: string }[] }>('/segments');
      for (const { segment } of segments) {
        for (let offset = next.get(segment) ?? 0; ;) {
          type Page = { readonly messages: readonly Omit<ReadMessage, 'segment'>[]; readonly nextOffset: number };
          const page = await get<Page>(`/segments/${segment}/messages?limit=10000&offset=${offset}`);
          if (page.nextOffset === offset) break;
          found.push(...page.messages.map((message) => ({ ...message, segment })));
          offset = page.nextOffset;
        }
      }
      return found;
    },
  };
}
