import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId, UploadId } from '../../src/model/ids.ts';
import { SUBMITTING_MS_MAX } from '../../src/model/upload-limits.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { settleUpload } from '../../src/reference/settle-upload.ts';
import { readUpload } from '../../src/state/stored-uploads.ts';
import { message } from '../publish/requests.ts';
import { stage } from '../publish/uploads.ts';
import { type Answer, ask, attempt, type Client, isPassing, KEYS, surprise, think, together } from './log-writers.ts';

type Uploaded = { readonly id: string; readonly key: string; readonly upload: UploadId };

const UPLOADS_MAX = 3;
const TRIES_MAX = 6;
/** Longer than any clock is off. */
const AHEAD_MS = SUBMITTING_MS_MAX + 7_200_000;

/**
 * Submits uploads until each is in the log: under a key or without, sometimes at two brokers at once, while sweeps end attempts that
 * they take for old.
 */
export async function uploadWriter(client: Client): Promise<void> {
  const { run, name, random } = client;
  const topic = await run.world.broker().topics.resolve(run.topicName, { fresh: true }, run.world.signal);
  for (let n = 0; !run.isOver(); n += 1) {
    const uploads: Uploaded[] = [];
    for (let left = 1 + random.integer(UPLOADS_MAX); left > 0; left -= 1) {
      const id = `${name}-${n}.${uploads.length}`;
      uploads.push({ id, key: random.pick(KEYS), upload: await stage({ ...run.world, random }, topic) });
    }
    uploads.forEach(run.recorder.begin);
    const answers = new Map(uploads.map(({ id }) => [id, [] as Answer[]]));
    await submitTogether(client, uploads, { answers, key: random.chance(0.5) ? `${name}-${n}` : undefined });
    for (const one of uploads) await submitAlone(client, one, answers);
    for (const { id } of uploads) finish(client, id, answers.get(id) ?? []);
    await think(client);
  }
}

type Answers = Map<string, Answer[]>;

async function submitTogether(
  client: Client,
  uploads: readonly Uploaded[],
  { answers, key }: { readonly answers: Answers; readonly key: string | undefined },
): Promise<void> {
  const { random } = client;
  for (let tries = 0; tries < 2; tries += 1) {
    const swept = uploads[random.integer(uploads.length)];
    const copies = random.chance(0.5) ? 2 : 1;
    const submits = Array.from({ length: copies }, () => submit(client, uploads, { answers, key }));
    await Promise.all([...submits, ...(swept !== undefined && random.chance(0.3) ? [sweep(client, swept.upload)] : [])]);
    await think(client);
  }
}

async function submitAlone(client: Client, one: Uploaded, answers: Answers): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX && !isKnown(answers.get(one.id)); tries += 1) {
    await submit(client, [one], { answers, key: undefined });
    await think(client);
  }
}

const isKnown = (answers: readonly Answer[] | undefined): boolean => answers?.some(({ outcome }) => outcome === 'acked') ?? false;

async function submit(
  client: Client,
  uploads: readonly Uploaded[],
  { answers, key }: { readonly answers: Answers; readonly key: string | undefined },
): Promise<void> {
  const messages = uploads.map((one) => ({ ...message(one.key, one.id), upload: one.upload }));
  const request: PublishRequest = {
    content: { kind: 'messages', messages },
    ...(key === undefined ? {} : { idempotency: { key, requestHash: key } }),
  };
  const own = await attempt(client, request, uploads.length);
  for (const [index, one] of uploads.entries()) answers.get(one.id)?.push(asSubmitted(one, own[index] ?? { outcome: 'unknown' }));
}

/** Who is told where an upload is knows as much as who has stored it. */
function asSubmitted({ upload }: Uploaded, answer: Answer): Answer {
  const { error } = answer;
  if (error?.code !== 'upload-submitted' || error.extra['upload'] !== upload) return answer;
  const { segment, offset } = error.extra as { readonly segment: SegmentId; readonly offset: number };
  return { outcome: 'acked', address: { segment, offset } };
}

/** Whoever is at it is ended, and finds out. */
async function sweep(client: Client, id: UploadId): Promise<void> {
  await ask(client, async ({ broker: { deps, topics } }, signal) => {
    const topic = await topics.resolve(client.run.topicName, { fresh: false }, signal);
    const clock = { ...deps.clock, nowMs: () => deps.clock.nowMs() + AHEAD_MS };
    const upload = await readUpload(deps, topic.id, id, signal);
    const counts = { expired: 0, submitted: 0, staged: 0, bytes: 0 };
    if (upload !== undefined) await settleUpload({ ...deps, clock }, { topic: topic.id, dryRun: false, counts }, upload, signal);
  }).catch((error: unknown) => {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    if (!isTimeout && !(error instanceof KelpError && isPassing(error))) throw error;
  });
}

function finish(client: Client, id: string, answers: readonly Answer[]): void {
  const { recorder } = client.run;
  const unexpected = answers.filter(
    ({ error }) => !isPassing(error) && error?.code !== 'upload-in-use' && error?.code !== 'upload-submitted',
  );
  for (const { error } of unexpected) surprise(client, id, error);
  const places = new Set(answers.flatMap(({ address }) => (address === undefined ? [] : [`${address.segment}:${address.offset}`])));
  if (places.size > 1) recorder.surprise(`${id} is said to be at ${[...places].join(' and ')}`);
  const { outcome, address } = together(answers);
  recorder.end(id, outcome, address);
}
