import { DescribeTableCommand, DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSdkClient } from '../../src/adapters/dynamodb/sdk-client.ts';
import { createSdkTable } from '../../src/adapters/dynamodb/sdk-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { sharedStack } from '../stack.ts';
import { closedEndpoint } from './stub-server.ts';

const clock = createSystemClock();
const { signal } = new AbortController();
const freshName = (): string => `kelp-${randomBytes(8).toString('hex')}`;

describe('creating the table', () => {
  test.for(['dynoxide', 'ministack'] as const)('several at once make one, with its keys and its expiry: %s', async (kind) => {
    const settings = { ...sharedStack()[kind], table: freshName() };
    await Promise.all(Array.from({ length: 4 }, () => createTable(settings, clock, signal)));
    const key = { pk: 'p', sk: 's' };
    expect(await createSdkTable(settings).put(key, {}, [], signal)).toMatchObject({ applied: true });
    const client = createSdkClient(settings);
    const { Table } = await client.send(new DescribeTableCommand({ TableName: settings.table }));
    expect(Table).toMatchObject({
      TableStatus: 'ACTIVE',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
    });
    const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName: settings.table }));
    expect(TimeToLiveDescription).toMatchObject({ AttributeName: 'ttl', TimeToLiveStatus: 'ENABLED' });
    client.destroy();
  });

  test('a table that is there keeps its items', async () => {
    const settings = { ...sharedStack().dynoxide, table: freshName() };
    await createTable(settings, clock, signal);
    const table = createSdkTable(settings);
    await table.put({ pk: 'p', sk: 's' }, { a: 1 }, [], signal);
    await createTable(settings, clock, signal);
    expect(await table.get({ pk: 'p', sk: 's' }, signal)).toMatchObject({ a: 1 });
  });

  test('nobody there: unavailable; given up: the reason', async () => {
    const settings = { ...sharedStack().dynoxide, table: freshName() };
    const reason = new Error('cancelled');
    await expect(createTable(settings, clock, AbortSignal.abort(reason))).rejects.toBe(reason);
    const nowhere = { ...settings, endpoint: await closedEndpoint() };
    await expect(createTable(nowhere, clock, signal)).rejects.toMatchObject({ kind: 'unavailable', code: 'table-unavailable' });
  });
});
