import { BucketAlreadyOwnedByYou, CreateBucketCommand, HeadBucketCommand, NotFound, type S3Client } from '@aws-sdk/client-s3';
import { createSdkClient } from '../../src/adapters/s3/sdk-client.ts';
import type { StoreSettings } from '../../src/adapters/s3/store-settings.ts';

/** Makes the bucket if it is missing. Safe to ask again. */
export async function makeBucket(settings: StoreSettings, abortSignal: AbortSignal): Promise<void> {
  const client = createSdkClient(settings);
  try {
    if (!(await hasBucket(client, settings.bucket, abortSignal))) await create(client, settings.bucket, abortSignal);
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
