import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { KelpError } from '../../src/model/errors.ts';

/** The local servers take any credentials. */
export const TABLE_CREDENTIALS = { region: 'us-east-1', accessKey: 'local', secretKey: 'local' } as const;

export type TableAddress = {
  readonly endpoint: string;
  readonly table: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly signal: AbortSignal;
};

/** Makes the table of string keys `pk`, `sk` unless it is there, and answers once it is active. infra/table.yml says the same for AWS. */
export async function makeTable(address: TableAddress): Promise<void> {
  const { endpoint, region, table: TableName, accessKey: accessKeyId, secretKey: secretAccessKey, signal: abortSignal } = address;
  const client = new DynamoDBClient({ endpoint, region, credentials: { accessKeyId, secretAccessKey }, maxAttempts: 1 });
  try {
    if (await createTable(client, TableName, abortSignal)) await expire(client, TableName, abortSignal);
    const { Table } = await client.send(new DescribeTableCommand({ TableName }), { abortSignal });
    if (Table?.TableStatus === 'ACTIVE') return;
    throw new KelpError('unavailable', 'table-not-active', `table ${TableName} is ${Table?.TableStatus ?? 'absent'}`);
  } finally {
    client.destroy();
  }
}

/** Answers whether it is new. */
async function createTable(client: DynamoDBClient, TableName: string, abortSignal: AbortSignal): Promise<boolean> {
  const keys = { pk: 'HASH', sk: 'RANGE' } as const;
  const command = new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: Object.keys(keys).map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: Object.entries(keys).map(([AttributeName, KeyType]) => ({ AttributeName, KeyType })),
  });
  try {
    await client.send(command, { abortSignal });
    return true;
  } catch (error) {
    if (error instanceof ResourceInUseException) return false;
    throw error;
  }
}

/** Only tidies: expiry is checked in conditions, since every implementation deletes late. */
async function expire(client: DynamoDBClient, TableName: string, abortSignal: AbortSignal): Promise<void> {
  const TimeToLiveSpecification = { AttributeName: 'ttl', Enabled: true };
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }), { abortSignal });
}
