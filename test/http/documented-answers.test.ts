import { expect, test } from 'vitest';
import { OPERATION_DOCUMENTS } from '../../src/http/operation-documents.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { KelpError } from '../../src/model/errors.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { seen } from './check-answer.ts';
import { openLog, one } from './log.ts';
import { uploaded } from './some-upload.ts';
import { createTestApp } from './test-app.ts';

test('each answer that is documented comes, and is what the document says', async () => {
  let throttled = '';
  const table = interceptTable(createMemoryTable(), (call, make) =>
    throttled !== '' && call.name === 'update head' && 'key' in call && call.key.pk.endsWith(throttled)
      ? Promise.reject(new KelpError('throttled', 'table-throttled', 'slow down'))
      : make(),
  );
  const t = createTestApp({
    table,
    change: ({ consumer }) => ({
      consumer: {
        ...consumer,
        // No segment of today is sealed while its topic lives; the next one is read as if it were.
        readSegment: async (topic, wanted, signal) => ({ ...(await consumer.readSegment(topic, wanted, signal)), sealed: true }),
      },
    }),
  });
  const log = await openLog(t, { segments: 2 });
  const path = `/v1/topics/${log.topic}`;
  await t.send('PUT', path, { body: { partitionKey: 'key', segments: 2, replicas: 2 } });
  expect((await t.send('PATCH', path, { body: { replicas: 3 } })).status).toBe(200);
  await log.publish(one({ key: 'k0', text: 'x' }));
  await log.publishRaw('x', { query: '?key=k0' });
  throttled = (await t.send('GET', `${path}/segments`)).json.segments[1].segment;
  const both = {
    messages: [
      { key: 'k0', text: 'x' },
      { key: 'k1', text: 'x' },
    ],
  };
  expect((await log.publish(both, { 'kelp-timeout-ms': '200' })).status).toBe(207);
  throttled = '';
  const upload = await uploaded(t, log.topic, Buffer.from('hello'));
  await log.publish(one({ key: 'k0', upload }));
  for (const target of [
    `${path}/uploads/${upload}`,
    '/livez',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/v1',
    '/v1/topics',
    path,
    `${path}/scaling`,
    `${path}/segments/${log.segment}`,
    `${path}/files`,
  ]) {
    expect((await t.send('GET', target)).status).toBe(200);
  }
  for (const target of ['/v1/brokers', '/v1/leader']) expect((await t.send('GET', target)).status).toBe(200);
  expect((await t.send('POST', `${path}/segments/${log.segment}/brokers`)).status).toBe(200);
  expect((await t.send('POST', '/v1/brokers/a/drain')).status).toBe(202);
  expect((await t.send('POST', '/v1/rebalance')).status).toBe(200);
  expect((await t.send('POST', '/v1/sweep')).status).toBe(200);
  for (const accept of [
    'application/json',
    'application/x-ndjson',
    'application/vnd.kelp.batch',
    'application/vnd.kelp.references+json',
    'text/event-stream',
  ]) {
    await log.read('', { accept });
    if (accept !== 'text/event-stream') await t.send('GET', `${path}/messages`, { headers: { accept } });
  }
  const over = await log.read('', { accept: 'text/event-stream', 'last-event-id': `${log.segment}:4` });
  expect(over.status).toBe(204);
  // A topic's stream has no end by itself.
  const stream = t.send('GET', `${path}/messages`, { headers: { accept: 'text/event-stream' } });
  t.stop();
  expect((await stream).text).toMatch(/^:\n\n/);
  expect((await t.send('POST', `${path}/segments/${log.segment}/split`, { body: { at: 7 } })).status).toBe(200);
  expect((await t.send('POST', `${path}/segments/merge`, { body: { segments: ['s0000000', 's0000001'] } })).status).toBe(200);
  expect((await t.send('POST', `${path}/truncate`, { body: { timestamp: 0 } })).status).toBe(200);
  expect((await t.send('DELETE', path)).status).toBe(204);

  const documented = Object.entries(OPERATION_DOCUMENTS).flatMap(([operation, { answers }]) =>
    Object.entries(answers).flatMap(([status, { content }]) =>
      content === undefined ? [`${operation} ${status}`] : Object.keys(content).map((type) => `${operation} ${status} ${type}`),
    ),
  );
  expect([...seen].toSorted()).toEqual(documented.toSorted());
});
