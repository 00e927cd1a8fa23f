import {
  BucketAlreadyOwnedByYou,
  CreateBucketCommand,
  HeadBucketCommand,
  NotFound,
  PutBucketCorsCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { createSdkClient } from '../../src/adapters/s3/sdk-client.ts';
import type { StoreSettings } from '../../src/adapters/s3/store-settings.ts';

/** Of a preflight's answer. */
const CORS_MS_MAX = 3_600_000;

/**
 * Makes the bucket if it is missing, and says which web pages' scripts may send there what was signed for them (`*`: all, and none
 * with credentials). Without `origins`, what is said there stays. Safe to ask again.
 */
export async function makeBucket(settings: StoreSettings, origins: readonly string[] | undefined, abortSignal: AbortSignal): Promise<void> {
  const client = createSdkClient(settings);
  try {
    if (!(await hasBucket(client, settings.bucket, abortSignal))) await create(client, settings.bucket, abortSignal);
    if (origins !== undefined) await allow(client, settings.bucket, origins, abortSignal);
  } finally {
    client.destroy();
  }
}

async function hasBucket(client: S3Client, Bucket: string, abortSignal: AbortSignal): Promise<boolean> {
  try {
    await client.send(new HeadBucketCommand({ Bucket }), { abortSignal });
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    throw error;
  }
}

async function create(client: S3Client, Bucket: string, abortSignal: AbortSignal): Promise<void> {
  try {
    await client.send(new CreateBucketCommand({ Bucket }), { abortSignal });
  } catch (error) {
    // Somebody else made it in the meantime.
    if (!(error instanceof BucketAlreadyOwnedByYou)) throw error;
  }
}

async function allow(client: S3Client, Bucket: string, origins: readonly string[], abortSignal: AbortSignal): Promise<void> {
  const rule = {
    AllowedOrigins: [...origins],
    AllowedMethods: ['PUT', 'GET', 'HEAD'],
    // Those that are signed; a browser sends the length by itself.
    AllowedHeaders: ['content-type', 'if-none-match', 'x-amz-checksum-sha256', 'range'],
    ExposeHeaders: ['etag', 'content-range'],
    MaxAgeSeconds: CORS_MS_MAX / 1_000,
  };
  await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: [rule] } }), { abortSignal });
}
