import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { TABLE_ANSWER_BYTES_MAX } from '../../model/limits.ts';
import type { Item, MetadataTable, WriteResult } from '../../ports/metadata-table.ts';
import type { Answer } from '../signed-http/exchange.ts';
import { ExchangeFailure } from '../signed-http/failure.ts';
import { type Connecting, type SignedExchangeRequest, createSignedExchange } from '../signed-http/signed-exchange.ts';
import { type AnyAttributes, jsonAttributes } from './attribute-value.ts';
import { createRequests, isEmptyRange, queryPage } from './requests.ts';
import { abortedCall, tableError } from './table-error.ts';
import type { TableSettings } from './table-settings.ts';

type Operation = 'GetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'Query';
type Members = {
  readonly Item?: AnyAttributes;
  readonly Attributes?: AnyAttributes;
  readonly Items?: readonly AnyAttributes[];
  readonly LastEvaluatedKey?: object;
  /** Of an error: a namespace, `#`, and its name. */
  readonly __type?: string;
};
type Call = (operation: Operation, body: object, signal: AbortSignal) => Promise<Understood>;
type Understood = { readonly status: number; readonly members: Members; readonly code: string | undefined };

const OK = 200;
const CONDITION_FAILED = 'ConditionalCheckFailedException';

/** The port over the API's JSON by plain signed requests, over connections of any kind. */
export function createSignedTable(settings: TableSettings & Connecting): MetadataTable {
  const call = createCall(settings);
  const requests = createRequests(settings.table, jsonAttributes);

  async function read(operation: Operation, body: object, signal: AbortSignal): Promise<Members> {
    const { status, members, code } = await call(operation, body, signal);
    if (status === OK) return members;
    throw tableError('read', { sent: true, status, ...(code === undefined ? {} : { code }), cause: undefined });
  }

  async function write(operation: Operation, body: object, signal: AbortSignal): Promise<WriteResult> {
    const { status, members, code } = await call(operation, body, signal);
    // An update was asked for the whole item: an answer without it is not the table's.
    const whole = operation !== 'UpdateItem' || members.Attributes !== undefined;
    if (status === OK && whole) return { applied: true, item: decoded(members.Attributes) ?? {} };
    if (status === 400 && code === CONDITION_FAILED) return { applied: false, item: decoded(members.Item) };
    throw tableError('write', { sent: true, status, ...(code === undefined ? {} : { code }), cause: undefined });
  }

  return {
    get: async (key, signal) => decoded((await read('GetItem', requests.get(key), signal)).Item),
    async put(key, item, condition, signal) {
      const result = await write('PutItem', requests.put(key, item, condition), signal);
      return result.applied ? { applied: true, item: { ...item, pk: key.pk, sk: key.sk } } : result;
    },
    update: async (key, update, signal) => await write('UpdateItem', requests.update(key, update), signal),
    delete: async (key, condition, signal) => await write('DeleteItem', requests.delete(key, condition), signal),
    async query(query, signal) {
      signal.throwIfAborted();
      if (isEmptyRange(query)) return { items: [], more: false };
      const { Items = [], LastEvaluatedKey } = await read('Query', requests.query(query), signal);
      return queryPage(query, Items.map(jsonAttributes.decodeMap), LastEvaluatedKey !== undefined);
    },
  };
}

function decoded(attributes: AnyAttributes | undefined): Item | undefined {
  return attributes === undefined ? undefined : jsonAttributes.decodeMap(attributes);
}

function createCall({ table: _table, ...settings }: Parameters<typeof createSignedTable>[0]): Call {
  const exchange = createSignedExchange({ service: 'dynamodb', codeOf: (answer) => understood(answer).code, ...settings });
  return async (operation, body, signal) => {
    const access = operation === 'GetItem' || operation === 'Query' ? 'read' : 'write';
    const bytes = Buffer.from(JSON.stringify(body));
    const request: SignedExchangeRequest = {
      method: 'POST',
      path: '/',
      query: '',
      signedHeaders: { 'x-amz-target': `DynamoDB_20120810.${operation}` },
      otherHeaders: { 'content-type': 'application/x-amz-json-1.0', 'content-length': String(bytes.length) },
      bodyHash: hash('sha256', bytes),
      body: [bytes],
      answerBytesMax: TABLE_ANSWER_BYTES_MAX,
    };
    try {
      return understood(await exchange(request, signal));
    } catch (error) {
      const sent = !(error instanceof ExchangeFailure) || error.sent;
      throw signal.aborted ? abortedCall(access, sent, signal) : tableError(access, { sent, cause: error });
    }
  };
}

/** Throws on an answer of success that is not this API's: who knows what became of the request then. */
function understood({ status, headers, body }: Answer): Understood {
  const expected = headers['x-amz-crc32'];
  if (expected !== undefined && Number(expected) !== crc32(body)) throw new Error('the answer was damaged on its way');
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  const members = status === OK ? parse(text) : parseFault(text);
  const { __type } = members;
  return { status, members, code: typeof __type === 'string' ? __type.slice(__type.indexOf('#') + 1) : undefined };
}

function parse(text: string): Members {
  const members: unknown = JSON.parse(text);
  assert(typeof members === 'object' && members !== null, 'the answer is no object');
  return members;
}

/** Something on the way answers in a language of its own; its status is all that it says. */
function parseFault(text: string): Members {
  try {
    return parse(text);
  } catch {
    return {};
  }
}
