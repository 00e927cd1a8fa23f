import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import { createArchiving } from '../../src/broker/create-archiving.ts';
import { oldMessagesOf } from '../../src/broker/create-old-messages.ts';
import { sweep } from '../../src/broker/sweep.ts';
import { KelpError } from '../../src/model/errors.ts';
import { isTransient } from '../../src/state/ask-again.ts';
import { createArchives } from '../../src/state/known-archives.ts';
import { ask, type Client, rest } from './log-writers.ts';
import type { TestBroker } from './test-broker.ts';

// Who takes old messages out of the index, and deletes what nobody needs, on any broker, which may stop in the middle of it.

const HOUR_MS = 3_600_000;
/** Some files an hour and segment. */
const FILE_BYTES_MAX = 6_000;
/** Of one run; then its broker is told to stop. */
const RUN_MS_MAX = 120_000;
const PAUSE_MS_MAX = 900;

const fileCompression = createFileCompression();

export const archivingOf = ({ deps }: TestBroker) =>
  createArchiving({ ...deps, fileCompression, fileBytesMax: FILE_BYTES_MAX, fileAgeMs: HOUR_MS });

export const sweepBy = ({ deps }: TestBroker, signal: AbortSignal) => sweep({ ...deps, garbageAgeMs: HOUR_MS }, { dryRun: false }, signal);

/** Archives now and then until all is over. Answers how many records were taken over, as far as anybody lived to tell. */
export async function archiver(client: Client): Promise<number> {
  let archived = 0;
  await nowAndThen(client, async ({ broker }, signal) => {
    archived += (await archivingOf(broker).archive({ until: signal }, signal)).archived;
  });
  return archived;
}

/** Sweeps now and then. Answers how many messages retention has let go, and how many objects and pages went. */
export async function sweeper(client: Client): Promise<{ readonly dropped: number; readonly collected: number }> {
  const counts = { dropped: 0, collected: 0 };
  await nowAndThen(client, async ({ broker }, signal) => {
    const { retention, garbage } = await sweepBy(broker, signal);
    counts.dropped += retention.messages;
    counts.collected += garbage.archived + garbage.neverCommitted + garbage.files + garbage.pages;
  });
  return counts;
}

/** Cuts a segment off by hand now and then. */
export async function truncater(client: Client): Promise<void> {
  const { run, random } = client;
  await nowAndThen(client, async ({ broker }, signal) => {
    const topic = await broker.topics.resolve(run.topicName, { fresh: true }, signal);
    const segments = await broker.topics.segments(topic, signal);
    const found = segments[random.integer(segments.length)];
    if (found === undefined || found.tail === found.start) return;
    const to = { segment: found.segment, offset: found.start + random.integer(Math.min(10, found.tail - found.start)) };
    await oldMessagesOf({ ...broker.deps, archives: createArchives(broker.deps) }, broker.consumer).truncate(
      topic,
      { to, dryRun: false },
      signal,
    );
  });
}

async function nowAndThen(client: Client, work: Parameters<typeof ask<void>>[1]): Promise<void> {
  while (!client.run.isOver()) {
    await rest(client, PAUSE_MS_MAX);
    await ask(client, work, RUN_MS_MAX).catch((error: unknown) => {
      const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
      const isGone = error instanceof KelpError && (error.kind === 'not-found' || error.code === 'beyond-tail');
      if (!isTimeout && !isGone && !isTransient(error)) throw error;
    });
  }
}
