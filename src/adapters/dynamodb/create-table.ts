import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceInUseException,
  ResourceNotFoundException,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../ports/clock.ts';
import { failureOfSdk } from '../signed-http/failure.ts';
import { createSdkClient } from './sdk-client.ts';
import { tableError } from './table-error.ts';
import type { TableSettings } from './table-settings.ts';

const POLL_MS = 200;
/** The attribute whose time, in seconds since 1970, has a stale item deleted: some day, so conditions look at it too. */
const TTL_ATTRIBUTE = 'ttl';

/** Makes the table (string keys `pk` and `sk`, paid by request) if it is missing; resolves once it is active. Safe to ask again. */
export async function createTable(settings: TableSettings, clock: Clock, signal: AbortSignal): Promise<void> {
  const client = createSdkClient(settings);
  try {
    // Bounded by the signal alone: a table is active within seconds or not at all.
    while ((await status(client, settings.table, signal)) !== 'ACTIVE') {
      await create(client, settings.table, signal);
      await clock.sleep(POLL_MS, signal);
    }
    await setTimeToLive(client, settings.table, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : tableError('read', failureOfSdk(error));
  } finally {
    client.destroy();
  }
}

async function status(client: DynamoDBClient, TableName: string, abortSignal: AbortSignal): Promise<string | undefined> {
  try {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }), { abortSignal });
    return Table?.TableStatus;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

async function create(client: DynamoDBClient, TableName: string, abortSignal: AbortSignal): Promise<void> {
  const command = new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
    ],
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
  });
  try {
    await client.send(command, { abortSignal });
  } catch (error) {
    // It is being made already, by us or by somebody else.
    if (!(error instanceof ResourceInUseException)) throw error;
  }
}

async function setTimeToLive(client: DynamoDBClient, TableName: string, abortSignal: AbortSignal): Promise<void> {
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }), { abortSignal });
  // Setting what is set already is refused.
  if (TimeToLiveDescription?.AttributeName === TTL_ATTRIBUTE) return;
  const TimeToLiveSpecification = { AttributeName: TTL_ATTRIBUTE, Enabled: true };
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }), { abortSignal });
}
