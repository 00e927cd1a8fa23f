import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { KelpError } from '../../src/model/errors.ts';
import { CONNECTIONS_MAX } from '../../src/model/limits.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
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

const { signal } = new AbortController();
const BODY = [new TextEncoder().encode('body')];

const fault = (code: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>m</Message></Error>`;
const error = (kind: string, code: string) => ({ name: 'KelpError', kind, code });

const INDEFINITE = error('indefinite', 'store-indefinite');
const UNAVAILABLE = error('unavailable', 'store-unavailable');
const THROTTLED = error('throttled', 'store-throttled');
const REFUSED = error('invalid', 'store-refused');

/** A HEAD that finds nothing. */
const NOTHING = { nothing: true };

const part = (range: string, text: string): Treatment => answer(206, text, { 'content-range': range });

/** What the server does, and what becomes of a put, of a HEAD (whose answer can't name its error), and of the other calls. */
const CASES: Record<string, { readonly treat: Treatment; readonly put: object; readonly head?: object; readonly others: object }> = {
  '503 SlowDown': { treat: answer(503, fault('SlowDown')), put: THROTTLED, head: UNAVAILABLE, others: THROTTLED },
  '429': { treat: answer(429, fault('TooManyRequests')), put: THROTTLED, others: THROTTLED },
  '503 ServiceUnavailable': { treat: answer(503, fault('ServiceUnavailable')), put: INDEFINITE, others: UNAVAILABLE },
  '500 InternalError': { treat: answer(500, fault('InternalError')), put: INDEFINITE, others: UNAVAILABLE },
  '502 of something on the way': { treat: answer(502, '<html>Bad Gateway</html>'), put: INDEFINITE, others: UNAVAILABLE },
  '400 RequestTimeout': { treat: answer(400, fault('RequestTimeout')), put: INDEFINITE, others: UNAVAILABLE },
  '403 AccessDenied': { treat: answer(403, fault('AccessDenied')), put: REFUSED, head: UNAVAILABLE, others: REFUSED },
  '404 NoSuchBucket': { treat: answer(404, fault('NoSuchBucket')), put: REFUSED, head: NOTHING, others: REFUSED },
  '404 of something on the way': { treat: answer(404, 'no such page'), put: INDEFINITE, head: NOTHING, others: UNAVAILABLE },
  'an error that is cut': { treat: cutAnswer(503, '<?xml version="1.0"?><Error>'), put: INDEFINITE, others: UNAVAILABLE },
  'a connection that is reset': { treat: resetConnection, put: INDEFINITE, others: UNAVAILABLE },
};

/** Answers to a read of ten bytes from 5 on that must not pass for its bytes. */
const RANGES: Record<string, Treatment> = {
  'cut, by its own length': cutAnswer(206, '01234'),
  'cut, with a range that says so': part('bytes 5-9/100', '01234'),
  'cut, with a range that does not': part('bytes 5-14/100', '01234'),
  'beginning elsewhere': part('bytes 0-9/100', '0123456789'),
  'longer than asked': part('bytes 5-15/100', '0123456789x'),
  'without a range': answer(206, '0123456789'),
  'the whole object': answer(200, '0123456789'),
};

/** What becomes of answers that real stores don't give on demand. */
export function describeStoreFailures(name: string, make: (endpoint: string) => ObjectStore, { ownSockets }: Sockets = OWN_SOCKETS): void {
  describe(`store, when things go wrong: ${name}`, () => {
    test.for(Object.entries(CASES))('%s: told by its kind, and asked once', async ([, { treat, put, others, head = others }]) => {
      const { client: store, server } = await against(make, treat);
      await expect(store.put('a/b', BODY, signal)).rejects.toMatchObject(put);
      await expect(store.put('a/b', [...BODY, ...BODY], signal)).rejects.toMatchObject(put);
      await expect(store.getRange('a/b', 0, 10, signal)).rejects.toMatchObject(others);
      if (head === NOTHING) expect(await store.head('a/b', signal)).toBeUndefined();
      else await expect(store.head('a/b', signal)).rejects.toMatchObject(head);
      await expect(store.list('a', { limit: 10 }, signal)).rejects.toMatchObject(others);
      await expect(store.delete('a/b', signal)).rejects.toMatchObject(others);
      expect(server.requests).toHaveLength(6);
    });

    test('404 NoSuchKey: not found', async () => {
      const { client: store } = await against(make, answer(404, fault('NoSuchKey')));
      const notFound = error('not-found', 'object-not-found');
      await expect(store.getRange('a/b', 0, 10, signal)).rejects.toMatchObject(notFound);
      expect(await store.head('a/b', signal)).toBeUndefined();
    });

    test.for<[string, Treatment]>([
      ['an answer without a length', (response) => response.writeHead(200, { 'transfer-encoding': 'chunked' }).end()],
      ['a redirect', answer(301, '')],
    ])('a HEAD that tells nothing: %s', async ([, treat]) => {
      const { client: store } = await against(make, treat);
      await expect(store.head('a/b', signal)).rejects.toMatchObject(UNAVAILABLE);
    });

    test.for(Object.entries(RANGES))('a range that is not the one asked for: %s', async ([, treat]) => {
      const { client: store } = await against(make, treat);
      await expect(store.getRange('a/b', 5, 10, signal)).rejects.toMatchObject(UNAVAILABLE);
    });

    test('the same range, whole', async () => {
      const { client: store } = await against(make, part('bytes 5-14/100', '0123456789'));
      expect(Buffer.from(await store.getRange('a/b', 5, 10, signal)).toString()).toBe('0123456789');
    });

    test.for([answer(200, '<html>Welcome</html>'), answer(200, ''), cutAnswer(200, '<ListBucketResult>')])(
      'a list that is none',
      async (treat) => {
        const { client: store } = await against(make, treat);
        await expect(store.list('a', { limit: 10 }, signal)).rejects.toMatchObject(UNAVAILABLE);
      },
    );

    test(`a closed port: ${ownSockets ? 'surely not stored' : 'nobody knows'}`, async () => {
      const store = make(await closedEndpoint());
      await expect(store.put('a/b', BODY, signal)).rejects.toMatchObject(ownSockets ? UNAVAILABLE : INDEFINITE);
      await expect(store.getRange('a/b', 0, 10, signal)).rejects.toMatchObject(UNAVAILABLE);
    });

    test.for<[string, Treatment]>([
      ['no answer', () => undefined],
      ['half an answer', stuckAnswer(206, '01234')],
    ])('%s: an abort ends the call with its reason', async ([, treat]) => {
      const { client: store, server } = await against(make, treat);
      const controller = new AbortController();
      const reason = new Error('deadline');
      const calls = Promise.allSettled([
        store.getRange('a/b', 0, 10, controller.signal),
        store.list('a', { limit: 10 }, controller.signal),
        store.delete('a/b', controller.signal),
        store.put('a/b', [new Uint8Array(4_000_000)], controller.signal),
      ]);
      await server.untilRequests(4);
      // Long enough for the first half to arrive: an abort then finds the call in its body.
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      controller.abort(reason);
      const [get, list, , put] = await calls;
      expect([get, list, put]).toEqual(Array.from({ length: 3 }, () => ({ status: 'rejected', reason })));
    });

    test('an abort ends its own request, and no other', async () => {
      const waiting: ServerResponse[] = [];
      const { client: store, server } = await against(make, (response, { message }) => {
        if (message.method === 'PUT') waiting.push(response);
      });
      const controller = new AbortController();
      const others = Promise.all([store.put('a/b', BODY, signal), store.put('a/c', BODY, signal)]);
      const given = store.getRange('a/b', 0, 10, controller.signal);
      await server.untilRequests(3);
      controller.abort(new Error('cancelled'));
      await expect(given).rejects.toThrow('cancelled');
      for (const response of waiting) response.end();
      expect(await others).toHaveLength(2);
    });
  });
}

/** Of clients that have connections of their own. */
export function describeStoreConnections(name: string, make: (endpoint: string) => ObjectStore): void {
  describe(`connections to a store: ${name}`, () => {
    test('an answer before the body was sent ends the call, and leaves no connection in use', async () => {
      const large = [new Uint8Array(8_000_000), new Uint8Array(8_000_000)];
      const { client: store } = await against(make, answer(503, fault('SlowDown')), { early: true });
      const results = await Promise.allSettled(Array.from({ length: CONNECTIONS_MAX + 6 }, () => store.put('a/b', large, signal)));
      const kinds = new Set(results.map((result) => (result.status === 'rejected' ? (result.reason as KelpError).kind : 'stored')));
      // Whether the answer is seen before the connection's end is the network's choice.
      expect([...kinds].filter((kind) => kind !== 'throttled' && kind !== 'indefinite')).toEqual([]);
      await expect(store.getRange('a/b', 0, 10, signal)).rejects.toMatchObject(THROTTLED);
    });

    test('many calls share a bounded number of connections', async () => {
      const { client: store, server } = await against(make, (response) => void setTimeout(() => response.end(), 2));
      await Promise.all(Array.from({ length: CONNECTIONS_MAX * 2 }, () => store.put('a/b', BODY, signal)));
      expect(server.requests).toHaveLength(CONNECTIONS_MAX * 2);
      expect(server.connections()).toBeLessThanOrEqual(CONNECTIONS_MAX);
    });
  });
}
