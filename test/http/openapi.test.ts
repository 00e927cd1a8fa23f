import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../infra/openapi-document.ts';
import { OPERATION_DOCUMENTS } from '../../src/http/operation-documents.ts';
import { ROUTES } from '../../src/http/paths.ts';
import { PROBLEMS } from '../../src/http/problem.ts';
import { createTestApp } from './test-app.ts';

type Operation = { readonly operationId: string; readonly parameters?: readonly { readonly name: string; readonly in: string }[] };
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
};

const document = openApiDocument() as unknown as Document;

test('openapi.json is what routes and schemas say (npm run openapi)', () => {
  const committed = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as unknown;
  expect(committed).toEqual(JSON.parse(JSON.stringify(document)));
});

test('each route that the app has is documented, and nothing else is', () => {
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const app = createTestApp().app.routes.map(({ method, path }) => `${method} ${path.replaceAll(/:([a-z]+)/g, '{$1}')}`);
  expect(documented.toSorted()).toEqual(app.toSorted());
  expect(Object.keys(OPERATION_DOCUMENTS).toSorted()).toEqual(ROUTES.map(({ operation }) => operation).toSorted());
});

test('each parameter of a path is documented', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    const names = [...path.matchAll(/\{([a-z]+)\}/g)].map(([, name]) => name);
    for (const operation of Object.values(methods)) {
      expect((operation.parameters ?? []).filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(names);
    }
  }
});

test('each reference leads somewhere', () => {
  const text = JSON.stringify(document);
  const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '');
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) expect(Object.keys(document.components.schemas)).toContain(name);
});

test('PROTOCOL.md has the codes that there are, with status and whether to retry', () => {
  const protocol = readFileSync(new URL('../../src/http/PROTOCOL.md', import.meta.url), 'utf8');
  const rows = [...protocol.matchAll(/^\| (\d{3}) \| (.+?) \| (yes|no) \|/gm)].flatMap(([, status, codes = '', retryable]) =>
    [...codes.matchAll(/`([a-z-]+)`/g)].map(([, code]) => [code, Number(status), retryable === 'yes']),
  );
  const codes = Object.entries(PROBLEMS).map(([code, rule]) => [code, rule.status, rule.retryable]);
  expect(rows.toSorted()).toEqual(codes.toSorted());
});

test('PROTOCOL.md has every path', () => {
  const protocol = readFileSync(new URL('../../src/http/PROTOCOL.md', import.meta.url), 'utf8');
  for (const { path } of ROUTES) expect(protocol).toContain(path.replaceAll(/:([a-z]+)/g, '{$1}'));
});
