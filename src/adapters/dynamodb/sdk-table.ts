import assert from 'node:assert/strict';
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Item, MetadataTable, WriteResult } from '../../ports/metadata-table.ts';
import { failureOfSdk } from '../signed-http/failure.ts';
import { type AnyAttributes, sdkAttributes } from './attribute-value.ts';
import { createRequests, isEmptyRange, queryPage } from './requests.ts';
import { createSdkClient } from './sdk-client.ts';
import { abortedCall, tableError } from './table-error.ts';
import type { TableSettings } from './table-settings.ts';

/** The port over the SDK, which also finds a function's own credentials. Its retries are off: one call is one attempt. */
export function createSdkTable(settings: TableSettings): MetadataTable {
  const client = createSdkClient(settings);
  const requests = createRequests(settings.table, sdkAttributes);

  return {
    async get(key, signal) {
      const { Item: item } = await read((options) => client.send(new GetItemCommand(requests.get(key)), options), signal);
      return decoded(item);
    },
    async put(key, item, condition, signal) {
      const command = new PutItemCommand(requests.put(key, item, condition));
      const result = await write((options) => client.send(command, options), signal);
      return result.applied ? { applied: true, item: { ...item, pk: key.pk, sk: key.sk } } : result;
    },
    async update(key, update, signal) {
      const command = new UpdateItemCommand(requests.update(key, update));
      return await write(async (options) => {
        const answer = await client.send(command, options);
        assert(answer.Attributes !== undefined, 'an update answers with the whole item');
        return answer;
      }, signal);
    },
    async delete(key, condition, signal) {
      const command = new DeleteItemCommand(requests.delete(key, condition));
      return await write((options) => client.send(command, options), signal);
    },
    async query(query, signal) {
      signal.throwIfAborted();
      if (isEmptyRange(query)) return { items: [], more: false };
      const page = await read((options) => client.send(new QueryCommand(requests.query(query)), options), signal);
      return queryPage(query, (page.Items ?? []).map(sdkAttributes.decodeMap), page.LastEvaluatedKey !== undefined);
    },
  };
}

async function read<T>(call: (options: { abortSignal: AbortSignal }) => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  try {
    return await call({ abortSignal: signal });
  } catch (error) {
    throw signal.aborted ? abortedCall('read', true, signal) : tableError('read', failureOfSdk(error));
  }
}

async function write(
  call: (options: { abortSignal: AbortSignal }) => Promise<{ Attributes?: AnyAttributes | undefined }>,
  signal: AbortSignal,
): Promise<WriteResult> {
  signal.throwIfAborted();
  try {
    const { Attributes } = await call({ abortSignal: signal });
    return { applied: true, item: decoded(Attributes) ?? {} };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { applied: false, item: decoded(error.Item) };
    throw signal.aborted ? abortedCall('write', true, signal) : tableError('write', failureOfSdk(error));
  }
}

function decoded(attributes: AnyAttributes | undefined): Item | undefined {
  return attributes === undefined ? undefined : sdkAttributes.decodeMap(attributes);
}
