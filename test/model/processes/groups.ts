import type { GroupCommit } from '../../../src/publish/group-commit.ts';
import type { Part, PartOutcome } from '../../../src/publish/part.ts';
import { type StoreDeps, storeGroup } from '../../../src/publish/store-group.ts';
import type { Compression } from '../../../src/ports/compression.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';
import type { CommitDeps } from '../../../src/publish/commit-deps.ts';

// Group commit without gathering: each submission is a group. Uploads always succeed (their keys are unique, so a failed one
// changes nothing), and are called by what is in them.

const MESSAGE = /<([a-z0-9]+)>/g;

const store: ObjectStore = {
  put: async () => {},
  getRange: () => Promise.reject(new Error('the model reads no objects')),
  head: () => Promise.reject(new Error('the model reads no objects')),
  list: () => Promise.reject(new Error('the model lists no objects')),
  delete: () => Promise.reject(new Error('the model deletes no objects')),
};

export const noCompression: Compression = {
  compress: async (bytes) => ({ codec: 'none', bytes }),
  decompress: async (_codec, bytes) => bytes,
};

/** The product's own store-group behind the queue's seam. */
export function singleGroups(deps: CommitDeps, name: string): GroupCommit {
  let uploads = 0;
  return {
    async submit({ topic, parts }, signal) {
      signal.throwIfAborted();
      uploads += 1;
      const id = `${name}${uploads}.${[...Map.groupBy(parts, (part) => part.segment)].map(([segment, own]) => `${segment}=${messagesOf(own)}`).join('.')}`;
      const random = { ...deps.random, base36: () => id };
      const storeDeps: StoreDeps = { ...deps, random, store, spiller: { committed: () => {} } };
      const outcomes = new Map<Part, PartOutcome>();
      const settle = (part: Part, outcome: PartOutcome) => void outcomes.set(part, outcome);
      await storeGroup(storeDeps, { topic, parts }, { queuedMs: () => 0, uploaded() {}, putOff() {}, settle, decided() {} }, signal);
      return parts.map((part) => outcomes.get(part) ?? { outcome: 'again' });
    },
  };
}

function messagesOf(parts: readonly Part[]): string {
  const text = parts.flatMap((part) => part.batches.map((bytes) => Buffer.from(bytes).toString('latin1'))).join('');
  return [...text.matchAll(MESSAGE)].map(([, message]) => message).join('+');
}
