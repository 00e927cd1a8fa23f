import { beforeEach, describe, expect, test } from 'vitest';
import { openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

describe('J-23 topic-deleted-and-made-again', () => {
  test('positions of the former life are known as such, at once', async () => {
    const log = await openLog(t);
    for (let index = 0; index < 10; index += 1) await log.publish(one({ key: 'a', text: String(index) }));
    const cursor = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.cursor as string;
    const producer = { 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0' };
    await log.publish(one({ key: 'a', text: 'p' }), { ...producer, 'kelp-segment': log.segment, 'kelp-producer-sequence': '0' });
    await t.send('DELETE', `/v1/topics/${log.topic}`);
    await t.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    const { segments } = (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json;
    for (let index = 0; index < 5; index += 1) await log.publish(one({ key: 'a', text: `new ${index}` }));

    const beganMs = Date.now();
    for (const answer of [
      await t.send('GET', `/v1/topics/${log.topic}/messages?waitMs=25000&cursor=${cursor}`),
      await log.read('?waitMs=25000&offset=10'),
      await log.publish(one({ key: 'a', text: '' }), { 'kelp-segment': log.segment }),
      await log.publish(one({ key: 'a', text: '' }), { ...producer, 'kelp-segment': log.segment, 'kelp-producer-sequence': '1' }),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([410, 'topic-replaced']);
    }
    expect(Date.now() - beganMs).toBeLessThan(2_000);
    const fresh = await log.publish(one({ key: 'a', text: 'p' }), {
      ...producer,
      'kelp-segment': segments[0].segment,
      'kelp-producer-sequence': '0',
    });
    expect(fresh.json.results).toEqual([{ segment: segments[0].segment, offset: 5 }]);
    const all = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.messages;
    expect(all.map(({ text }: { text: string }) => text)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4', 'p']);
  });

  test('an instance that remembers the old topic finds the new one', async () => {
    const other = createTestApp({ table: t.table, store: t.store });
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: 'old' }));
    const path = `/v1/topics/${log.topic}`;
    await other.send('POST', `${path}/messages`, { body: one({ key: 'a', text: 'old too' }) });
    await t.send('DELETE', path);
    await t.send('PUT', path, { body: { partitionKey: { header: 'id' }, segments: 2 } });
    // Another rule for the key, too: what was parsed by the old one must not be stored.
    expect((await other.send('POST', `${path}/messages`, { body: one({ key: 'a', text: 'new' }) })).json.code).toBe('invalid-key');
    expect((await other.send('POST', `${path}/messages`, { body: one({ text: 'new', headers: { id: 'a' } }) })).status).toBe(200);
    const { messages } = (await other.send('GET', `${path}/messages`)).json;
    expect(messages).toMatchObject([{ key: 'a', text: 'new' }]);
  });
});
