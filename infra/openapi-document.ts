import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };
import * as messageSchemas from '../src/http/message-schemas.ts';
import { COMMON_PROBLEMS, type Content, type OperationDocument, type Parameter } from '../src/http/operation-document.ts';
import * as oldMessageSchemas from '../src/http/old-message-schemas.ts';
import { OPERATION_DOCUMENTS } from '../src/http/operation-documents.ts';
import { type Route, ROUTES } from '../src/http/paths.ts';
import * as referenceSchemas from '../src/http/reference-schemas.ts';
import * as scaleSchemas from '../src/http/scale-schemas.ts';
import * as schemas from '../src/http/schemas.ts';
import * as sweepSchemas from '../src/http/sweep-schemas.ts';
import * as uploadSchemas from '../src/http/upload-schemas.ts';

type Json = Readonly<Record<string, unknown>>;

const PROBLEM_MEDIA = 'application/problem+json';
const SCHEMA_FILES: readonly Readonly<Record<string, z.ZodType>>[] = [
  sweepSchemas,
  schemas,
  messageSchemas,
  scaleSchemas,
  referenceSchemas,
  oldMessageSchemas,
  uploadSchemas,
];
const SCHEMA_PATH = '#/components/schemas/';

/** The OpenAPI 3.1 document of every route in the table. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of ROUTES) {
    const path = route.path.replaceAll(/:([a-z]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, OPERATION_DOCUMENTS[route.operation]) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Kelp',
      version: packageJson.version,
      summary: packageJson.description,
      license: { name: 'Apache License 2.0', identifier: packageJson.license },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: components(),
      responses: { Problem: { description: 'A problem.', content: { [PROBLEM_MEDIA]: { schema: { $ref: `${SCHEMA_PATH}Problem` } } } } },
    },
  };
}

function operation(route: Route, document: OperationDocument): Json {
  const problems = [...new Set([...COMMON_PROBLEMS, ...(document.problems ?? [])])].toSorted((a, b) => a - b);
  const answers = Object.entries(document.answers).map(([status, { description, content }]) => [
    status,
    { description, ...(content === undefined ? {} : { content: contentOf(content) }) },
  ]);
  return {
    operationId: route.operation,
    summary: document.summary,
    ...(route.open === true ? { security: [] } : {}),
    ...(document.parameters === undefined ? {} : { parameters: document.parameters.map(parameter) }),
    ...(document.body === undefined
      ? {}
      : { requestBody: { required: document.bodyOptional !== true, content: contentOf(document.body) } }),
    responses: Object.fromEntries([...answers, ...problems.map((status) => [status, { $ref: '#/components/responses/Problem' }])]),
  };
}

const parameter = ({ name, in: place, schema, description }: Parameter): Json => ({
  name,
  in: place,
  required: place === 'path',
  ...(description === undefined ? {} : { description }),
  schema: schemaOf(schema),
});

function contentOf(content: Content): Json {
  const entries = Object.entries(content).map(([type, schema]) => [
    type,
    { schema: typeof schema === 'string' ? plain(schema) : schemaOf(schema) },
  ]);
  return Object.fromEntries(entries) as Json;
}

const plain = (kind: 'text' | 'binary'): Json => (kind === 'text' ? { type: 'string' } : {});

/** By name where the schema has one, else in place. */
function schemaOf(schema: z.ZodType): unknown {
  const id = z.globalRegistry.get(schema)?.id;
  if (id !== undefined) return { $ref: `${SCHEMA_PATH}${id}` };
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
}

function components(): Json {
  const named = z.registry<{ id: string }>();
  for (const schema of SCHEMA_FILES.flatMap((file) => Object.values(file))) {
    const id = z.globalRegistry.get(schema)?.id;
    if (id !== undefined) named.add(schema, { id });
  }
  const { schemas: all } = z.toJSONSchema(named, { uri: (id) => `${SCHEMA_PATH}${id}`, io: 'input' });
  const names = Object.keys(all).toSorted();
  return Object.fromEntries(names.map((name) => [name, withoutIds(all[name] ?? {})]));
}

const withoutIds = ({ $schema: _schema, $id: _id, ...json }: Json): Json => json;
