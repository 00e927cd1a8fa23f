import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { startOwnStack } from '../own-stack.ts';
import { freshPrefix, freshTable, sharedStack, type StoreAddress } from '../stack.ts';

function s3({ endpoint, region, accessKey: accessKeyId, secretKey: secretAccessKey }: StoreAddress): S3Client {
  return new S3Client({ endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } });
}

describe('the shared stack', () => {
  test('stores and returns an object', async () => {
    const { store } = sharedStack();
    const address = { Bucket: store.bucket, Key: `${freshPrefix()}/a` };
    await s3(store).send(new PutObjectCommand({ ...address, Body: 'kelp' }));
    const { Body } = await s3(store).send(new GetObjectCommand(address));
    expect(await Body?.transformToString()).toBe('kelp');
  });

  test.each(['dynoxide', 'ministack'] as const)('makes a table on %s', async (kind) => {
    const {
      endpoint,
      region,
      table,
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
    } = await freshTable(kind, AbortSignal.timeout(10_000));
    const client = new DynamoDBClient({ endpoint, region, credentials: { accessKeyId, secretAccessKey } });
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
    expect(Table?.KeySchema).toEqual([
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ]);
  });
});

test('an own stack keeps what was acknowledged when both stores are killed', async () => {
  const own = await startOwnStack();
  try {
    const address = { Bucket: own.store.bucket, Key: 'a' };
    await s3(own.store).send(new PutObjectCommand({ ...address, Body: 'kelp' }));
    await Promise.all([own.killStore(), own.killTable()]);
    await expect(s3(own.store).send(new GetObjectCommand(address))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await Promise.all([own.restartStore(), own.restartTable()]);
    const { Body } = await s3(own.store).send(new GetObjectCommand(address));
    expect(await Body?.transformToString()).toBe('kelp');
  } finally {
    await own.stop();
  }
});
