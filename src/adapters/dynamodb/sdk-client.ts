import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { CONNECTIONS_MAX, CONNECTION_IDLE_MS } from '../../model/limits.ts';
import type { TableSettings } from './table-settings.ts';

/** The SDK's client, whose own retries are off: whoever writes must know how often it asked. */
export function createSdkClient({ endpoint, region, accessKey, secretKey, sessionToken }: TableSettings): DynamoDBClient {
  const agent = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: CONNECTION_IDLE_MS };
  const config: DynamoDBClientConfig = { region, maxAttempts: 1, requestHandler: { httpAgent: agent, httpsAgent: agent } };
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (accessKey !== undefined && secretKey !== undefined) {
    config.credentials = { accessKeyId: accessKey, secretAccessKey: secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  }
  return new DynamoDBClient(config);
}
