import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { leadingHandlers } from '../../src/http/leading-handlers.ts';
import { ROUTES } from '../../src/http/paths.ts';
import { publishingHandlers } from '../../src/http/publishing-handlers.ts';
import { readingHandlers } from '../../src/http/reading-handlers.ts';
import { createTestApp, requestOf, TOKEN } from './test-app.ts';

// Three parts share the paths, and the gateway in front of them must know who has which.

const ENTRY = readFileSync(join(import.meta.dirname, '..', '..', 'infra', 'stack', 'entry.yml'), 'utf8');
const t = createTestApp();
const handlers = { broker: publishingHandlers(t.deps), read: readingHandlers(t.deps), leader: leadingHandlers(t.deps) };
const NAMES = ['broker', 'read', 'leader'] as const;
type Name = (typeof NAMES)[number];

/** As API Gateway writes it. */
const routesOf = (name: Name): string[] =>
  ROUTES.filter(({ operation }) => operation in handlers[name]).flatMap(({ method, path }) => {
    const target = path.replaceAll(/:([a-z]+)/g, '{$1}');
    return method === 'GET' ? [`GET ${target}`, `HEAD ${target}`] : [`${method} ${target}`];
  });

/** Of the setting `http-api`. */
function gatewayRoutesOf(name: string): string[] {
  const [, httpApi = ''] = /^http-api:\n((?:(?: .*)?\n)*)/m.exec(ENTRY) ?? [];
  const [, , own = ''] = new RegExp(`^( +)${name}:\n((?:\\1 .*\n)*)`, 'm').exec(httpApi) ?? [];
  return [...own.matchAll(/- httpApi: '?([^'\n]+)/g)].map(([, route = '']) => route);
}

test('each path has one function, but for what each says of itself, and for metrics, of which there are none', () => {
  const all = NAMES.flatMap((name) => Object.keys(handlers[name]));
  const others = ROUTES.map(({ operation }) => operation).filter((name) => !['livez', 'about', 'metrics'].includes(name));
  expect(all.toSorted()).toEqual(others.toSorted());
});

test('the gateway sends each request to the function that answers it', () => {
  expect(gatewayRoutesOf('broker')).toEqual(['*']);
  // The function of reading that answers whole.
  expect(gatewayRoutesOf('readBuffered').toSorted()).toEqual(routesOf('read').toSorted());
  expect(gatewayRoutesOf('leader').toSorted()).toEqual(routesOf('leader').toSorted());
});

test.each(NAMES)('%s: its own paths, and at others 404 for whoever has the token', async (name) => {
  const app = createApp(t.deps, handlers[name]);
  // Not held against the documents, which are those of all together.
  const ask = async (method: string, path: string, token: string | null = TOKEN) => {
    const response = await app.fetch(requestOf(method, path, { token }));
    return { status: response.status, text: await response.text() };
  };
  for (const { operation, method, path, open } of ROUTES) {
    const target = path.replace(':topic', 'none').replace(':segment', 's0000000').replace(':broker', 'b');
    const isOwn = operation in handlers[name] || operation === 'livez' || operation === 'about';
    const { status, text } = await ask(method, target);
    const isElsewhere = status === 404 && text.includes('"path-not-found"');
    expect([method, path, isElsewhere]).toEqual([method, path, !isOwn]);
    if (open !== true) expect((await ask(method, target, null)).status).toBe(401);
  }
  expect(await ask('GET', '/nowhere')).toEqual({ status: 404, text: expect.stringContaining('no such path') });
  expect((await ask('PUT', '/v1/topics/t/messages')).status).toBe(405);
});
