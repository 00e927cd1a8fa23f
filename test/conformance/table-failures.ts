import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { MetadataTable, Update } from '../../src/ports/metadata-table.ts';
import { CONNECTIONS_MAX } from '../../src/model/limits.ts';
import {
  OWN_SOCKETS,
  type Sockets,
  type Treatment,
  against,
  answer,
  closedEndpoint,
  cutAnswer,
  resetConnection,
  stuckAnswer,
} from './stub-server.ts';
import { signal } from './table-keys.ts';

const KEY = { pk: 'p', sk: 's' };
const UPDATE: Update = { condition: [{ op: 'exists', path: ['pk'] }], changes: [{ op: 'set', path: ['a'], value: 1 }] };
const ITEM_JSON = '{"pk":{"S":"p"},"sk":{"S":"s"},"a":{"N":"1"}}';
const ITEM = { ...KEY, a: 1 };

const fault = (type: string, rest = ''): string => `{"__type":"com.amazonaws.dynamodb.v20120810#${type}","message":"m"${rest}}`;
const error = (kind: string, code: string) => ({ name: 'KelpError', kind, code });

const INDEFINITE = error('indefinite', 'table-indefinite');
const UNAVAILABLE = error('unavailable', 'table-unavailable');
const THROTTLED = error('throttled', 'table-throttled');
const CONFLICT = error('conflict', 'table-conflict');
const REFUSED = error('invalid', 'table-refused');

/** What the server does, and what becomes of a write and of a read. */
const CASES: Record<string, { readonly treat: Treatment; readonly write: object; readonly read: object }> = {
  '400 ThrottlingException': { treat: answer(400, fault('ThrottlingException')), write: THROTTLED, read: THROTTLED },
  '400 ProvisionedThroughputExceededException': {
    treat: answer(400, fault('ProvisionedThroughputExceededException')),
    write: THROTTLED,
    read: THROTTLED,
  },
  '400 RequestLimitExceeded': { treat: answer(400, fault('RequestLimitExceeded')), write: THROTTLED, read: THROTTLED },
  '429 of something on the way': { treat: answer(429, 'slow down'), write: THROTTLED, read: THROTTLED },
  '400 TransactionConflictException': { treat: answer(400, fault('TransactionConflictException')), write: CONFLICT, read: CONFLICT },
  '400 ValidationException': { treat: answer(400, fault('ValidationException')), write: REFUSED, read: REFUSED },
  '400 ResourceNotFoundException': { treat: answer(400, fault('ResourceNotFoundException')), write: REFUSED, read: REFUSED },
  '400 AccessDeniedException': { treat: answer(400, fault('AccessDeniedException')), write: REFUSED, read: REFUSED },
  '400 that nobody understands': { treat: answer(400, '<html>Bad Request</html>'), write: INDEFINITE, read: UNAVAILABLE },
  '500 InternalServerError': { treat: answer(500, fault('InternalServerError')), write: INDEFINITE, read: UNAVAILABLE },
  '503 ServiceUnavailable': { treat: answer(503, fault('ServiceUnavailable')), write: INDEFINITE, read: UNAVAILABLE },
  '502 of something on the way': { treat: answer(502, '<html>Bad Gateway</html>'), write: INDEFINITE, read: UNAVAILABLE },
  '200 that nobody understands': { treat: answer(200, '<html>Welcome</html>'), write: INDEFINITE, read: UNAVAILABLE },
  '200 that is cut': { treat: cutAnswer(200, '{"Attributes":'), write: INDEFINITE, read: UNAVAILABLE },
  '400 that is cut': { treat: cutAnswer(400, '{"__type":'), write: INDEFINITE, read: UNAVAILABLE },
  'a connection that is reset': { treat: resetConnection, write: INDEFINITE, read: UNAVAILABLE },
};

/** What becomes of answers that real servers don't give on demand. */
export function describeTableFailures(
  name: string,
  make: (endpoint: string) => MetadataTable,
  { ownSockets }: Sockets = OWN_SOCKETS,
): void {
  describe(`table, when things go wrong: ${name}`, () => {
    test.for(Object.entries(CASES))('%s: told by its kind, and asked once', async ([, { treat, write, read }]) => {
      const { client: table, server } = await against(make, treat);
      await expect(table.update(KEY, UPDATE, signal)).rejects.toMatchObject(write);
      await expect(table.put(KEY, {}, [], signal)).rejects.toMatchObject(write);
      await expect(table.delete(KEY, [], signal)).rejects.toMatchObject(write);
      await expect(table.get(KEY, signal)).rejects.toMatchObject(read);
      await expect(table.query({ pk: 'p', limit: 1 }, signal)).rejects.toMatchObject(read);
      expect(server.requests).toHaveLength(5);
    });

    test('a refused condition gives the old item, or none', async () => {
      const withItem = await against(make, answer(400, fault('ConditionalCheckFailedException', `,"Item":${ITEM_JSON}`)));
      expect(await withItem.client.update(KEY, UPDATE, signal)).toEqual({ applied: false, item: ITEM });
      expect(await withItem.client.put(KEY, {}, [], signal)).toEqual({ applied: false, item: ITEM });
      const without = await against(make, answer(400, fault('ConditionalCheckFailedException')));
      expect(await without.client.delete(KEY, [], signal)).toEqual({ applied: false, item: undefined });
      expect(without.server.requests).toHaveLength(1);
    });

    test('an update answered without its item may or may not have happened', async () => {
      const { client: table } = await against(make, answer(200, '{}'));
      await expect(table.update(KEY, UPDATE, signal)).rejects.toMatchObject(INDEFINITE);
    });

    test('reads are strong: a stale one would let a tail go back', async () => {
      const { client: table, server } = await against(make, answer(200, '{}'));
      await table.get(KEY, signal);
      await table.query({ pk: 'p', limit: 1 }, signal);
      const bodies = server.requests.map(({ body }) => JSON.parse(body.toString()) as { ConsistentRead?: boolean });
      expect(bodies.map(({ ConsistentRead }) => ConsistentRead)).toEqual([true, true]);
    });

    test(`a closed port: ${ownSockets ? 'surely not applied' : 'nobody knows'}`, async () => {
      const table = make(await closedEndpoint());
      await expect(table.update(KEY, UPDATE, signal)).rejects.toMatchObject(ownSockets ? UNAVAILABLE : INDEFINITE);
      await expect(table.get(KEY, signal)).rejects.toMatchObject(UNAVAILABLE);
    });

    test.for<[string, Treatment]>([
      ['no answer', () => undefined],
      ['half an answer', stuckAnswer(200, '{"Attributes":')],
    ])('%s: an abort ends the call, a write as indefinite', async ([, treat]) => {
      const { client: table, server } = await against(make, treat);
      const controller = new AbortController();
      const reason = new Error('deadline');
      const calls = Promise.allSettled([table.update(KEY, UPDATE, controller.signal), table.get(KEY, controller.signal)]);
      await server.untilRequests(2);
      controller.abort(reason);
      const [write, read] = await calls;
      expect(write).toMatchObject({ status: 'rejected', reason: { ...INDEFINITE, cause: reason } });
      expect(read).toEqual({ status: 'rejected', reason });
    });

    test('an abort ends its own request, and no other', async () => {
      const waiting: ServerResponse[] = [];
      const { client: table, server } = await against(make, (response, { message }) => {
        if (message.headers['x-amz-target'] === 'DynamoDB_20120810.UpdateItem') waiting.push(response);
      });
      const controller = new AbortController();
      const others = Promise.all([table.update(KEY, UPDATE, signal), table.update(KEY, UPDATE, signal)]);
      const given = table.get(KEY, controller.signal);
      await server.untilRequests(3);
      controller.abort(new Error('cancelled'));
      await expect(given).rejects.toThrow('cancelled');
      for (const response of waiting) response.end(`{"Attributes":${ITEM_JSON}}`);
      const whole = { applied: true, item: ITEM };
      expect(await others).toEqual([whole, whole]);
    });
  });
}

/** Of clients that have connections of their own. */
export function describeTableConnections(name: string, make: (endpoint: string) => MetadataTable): void {
  describe(`connections to a table: ${name}`, () => {
    test('many calls share a bounded number of connections', async () => {
      const { client: table, server } = await against(make, (response) => void setTimeout(() => response.end(`{"Item":${ITEM_JSON}}`), 2));
      const items = await Promise.all(Array.from({ length: CONNECTIONS_MAX * 4 }, () => table.get(KEY, signal)));
      expect(items).toHaveLength(CONNECTIONS_MAX * 4);
      expect(server.connections()).toBeLessThanOrEqual(CONNECTIONS_MAX);
      await table.get(KEY, signal);
      expect(server.connections()).toBeLessThanOrEqual(CONNECTIONS_MAX);
    });
  });
}
