import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { CONNECTION_POOL } from '../signed-http/connection-pool.ts';
import type { TableSettings } from './table-settings.ts';

/** The SDK's client, whose own retries are off: whoever writes must know how often it asked. */
export function createSdkClient({ endpoint, region, accessKey, secretKey, sessionToken }: TableSettings): DynamoDBClient {
  const config: DynamoDBClientConfig = {
    region,
    maxAttempts: 1,
    requestHandler: { httpAgent: CONNECTION_POOL, httpsAgent: CONNECTION_POOL },
  };
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (accessKey !== undefined && secretKey !== undefined) {
    config.credentials = { accessKeyId: accessKey, secretAccessKey: secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  }
  return new DynamoDBClient(config);
}
