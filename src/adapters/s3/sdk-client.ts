import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { CONNECTION_POOL } from '../signed-http/connection-pool.ts';
import type { StoreSettings } from './store-settings.ts';

const drop = (): void => undefined;
/** Failures are told by errors. Without a logger the SDK warns on the console of every streamed put that fails. */
const SILENT = { debug: drop, info: drop, warn: drop, error: drop };

/** The SDK's client, whose own retries are off: one call is one attempt. */
export function createSdkClient({ endpoint, region, accessKey, secretKey, sessionToken }: StoreSettings): S3Client {
  const config: S3ClientConfig = {
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    logger: SILENT,
    // The defaults wrap bodies in a checksum trailer, which costs a pass over the bytes; record batches have their own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { httpAgent: CONNECTION_POOL, httpsAgent: CONNECTION_POOL },
  };
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (accessKey !== undefined && secretKey !== undefined) {
    config.credentials = { accessKeyId: accessKey, secretAccessKey: secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  }
  return new S3Client(config);
}
