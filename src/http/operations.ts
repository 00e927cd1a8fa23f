import packageJson from '../../package.json' with { type: 'json' };
import {
  DRAIN_PER_SECOND_MAX,
  HEADERS_BYTES_MAX,
  HEADERS_MAX,
  JSON_DEPTH_MAX,
  KEY_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  PROBE_KNOWN_MS_MAX,
  PROBE_MS_MAX,
  READ_MESSAGES_MAX,
  REPLICAS_MAX,
  REQUEST_MESSAGES_MAX,
  SEGMENTS_AT_CREATION_MAX,
  TIMEOUT_MS_MAX,
} from '../model/limits.ts';
import { KelpError } from '../model/errors.ts';
import { INLINE_BYTES_MAX, UPLOAD_BATCHES_BYTES_MAX, UPLOAD_BATCHES_MAX, UPLOAD_BYTES_MAX } from '../model/upload-limits.ts';
import { answer, okJson, okText } from './answer.ts';
import type { Handler } from './call.ts';
import { ENCODINGS } from './decode-body.ts';
import type { AppDependencies, HttpLimits, MetricsDependencies, PublishingDependencies } from './dependencies.ts';
import { BATCH_MEDIA, JSON_MEDIA, NDJSON_MEDIA, negotiate, PROMETHEUS_MEDIA, REFERENCES_MEDIA, SSE_MEDIA } from './media-type.ts';
import { openApiText } from './openapi.ts';

const ALIVE = JSON.stringify({ status: 'ok' });
const LEAVING = JSON.stringify({ status: 'leaving' });

/** The process answers, without asking anybody; and whether it was told to stop, so that balancers needn't ask for more. */
export function createLivez({ leaving }: AppDependencies): Handler {
  return () => okText(leaving.aborted ? LEAVING : ALIVE);
}

/**
 * Both stores took a write and gave it back within the last second. Everybody may ask, so all who ask at a time share one
 * probe, and a fresh result is believed: asking often costs nothing.
 */
export function createReadyz({ probe, clock, leaving, stopping, telemetry, probed = {} }: PublishingDependencies): Handler {
  let underWay: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      await probe(clock.deadline(PROBE_MS_MAX));
      return true;
    } catch (error) {
      telemetry.log('warn', 'not ready', { error: String(error) });
      return false;
    }
  };
  const askAndNote = async (): Promise<boolean> => {
    const ready = await ask();
    probed.last = { atMs: clock.monotonicMs(), ready };
    underWay = undefined;
    return ready;
  };
  const isReady = async (): Promise<boolean> => {
    const { last } = probed;
    if (last !== undefined && clock.monotonicMs() - last.atMs <= PROBE_KNOWN_MS_MAX) return last.ready;
    underWay ??= askAndNote();
    return underWay;
  };
  return async () => {
    if (leaving.aborted || stopping.aborted) throw new KelpError('unavailable', 'unavailable', 'this broker is stopping');
    if (!(await isReady())) throw new KelpError('unavailable', 'unavailable', 'a store does not answer');
    return okText(ALIVE);
  };
}

export function createMetrics({ metrics }: MetricsDependencies): Handler {
  return async ({ context }) => {
    negotiate(context, [PROMETHEUS_MEDIA]);
    return answer(await metrics(), `${PROMETHEUS_MEDIA}; version=0.0.4; charset=utf-8`);
  };
}

export const openapi: Handler = ({ context }) => {
  negotiate(context, [JSON_MEDIA]);
  return okText(openApiText());
};

/** What a client needs to know before it sends: formats and limits of this very endpoint. */
export function createAbout({ limits }: AppDependencies): Handler {
  const about = aboutOf(limits);
  return ({ context }) => {
    negotiate(context, [JSON_MEDIA]);
    return okJson(about);
  };
}

const aboutOf = (limits: HttpLimits): Record<string, unknown> => ({
  name: packageJson.name,
  version: packageJson.version,
  formats: {
    publish: [JSON_MEDIA, NDJSON_MEDIA, BATCH_MEDIA],
    read: [JSON_MEDIA, NDJSON_MEDIA, BATCH_MEDIA, REFERENCES_MEDIA, SSE_MEDIA],
    encodings: ENCODINGS,
  },
  limits: {
    requestBytes: limits.requestBytesMax,
    requestMessages: REQUEST_MESSAGES_MAX,
    messageBytes: MESSAGE_BYTES_MAX,
    keyBytes: KEY_BYTES_MAX,
    headers: HEADERS_MAX,
    headersBytes: HEADERS_BYTES_MAX,
    jsonDepth: JSON_DEPTH_MAX,
    segmentsAtCreation: SEGMENTS_AT_CREATION_MAX,
    replicas: REPLICAS_MAX,
    drainPerSecond: DRAIN_PER_SECOND_MAX,
    readMessages: READ_MESSAGES_MAX,
    readBytes: limits.readBytesMax,
    waitMs: limits.waitMsMax,
    timeoutMs: TIMEOUT_MS_MAX,
    uploadBytes: UPLOAD_BYTES_MAX,
    uploadBatches: UPLOAD_BATCHES_MAX,
    uploadBatchesBytes: UPLOAD_BATCHES_BYTES_MAX,
    inlineBytes: INLINE_BYTES_MAX,
  },
});
