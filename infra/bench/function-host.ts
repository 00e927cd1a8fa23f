import type { APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { apiEvent, invocationContext } from './api-event.ts';

// `node function-host.ts PORT FOLDER`: instances of the packaged functions in one process, as the platform would run each by itself.
// `/broker/7/v1/…` is for instance 7 of the broker, which is loaded at its first request; `/rebalance/0` is an event of the schedule.
// All other paths are those of the stack's own address.

const [port = '', folder = ''] = process.argv.slice(2);
/** Of the schedule's function. */
const EVENT_MS_MAX = 55_000;
/** What the stack's address stands for: instances without end, since those who ask may be asked in turn. */
const ADDRESS = { name: 'broker', id: 'address' } as const;
const NAMED = /^\/(?<name>broker|read|leader|rebalance)\/(?<id>\d+)(?<path>\/.*)?$/;

type Handler = (
  event: unknown,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
) => Promise<APIGatewayProxyStructuredResultV2 | undefined>;
type Named = { readonly name: string; readonly id: string };

const instances = new Map<string, Promise<Handler>>();
const turns = new Map<string, Promise<unknown>>();

/** Each has a module of its own, and so caches and connections of its own. */
function instance({ name, id }: Named): Promise<Handler> {
  const url = `${pathToFileURL(join(folder, `${name}.mjs`)).href}?${id}`;
  const loaded = instances.get(url) ?? import(url).then(({ handler }: { handler: Handler }) => handler);
  instances.set(url, loaded);
  return loaded;
}

/** One request at a time of each instance. */
function inTurn<T>({ name, id }: Named, work: () => Promise<T>): Promise<T> {
  if (id === ADDRESS.id) return work();
  const done = (turns.get(`${name} ${id}`) ?? Promise.resolve()).then(work);
  turns.set(
    `${name} ${id}`,
    done.catch(() => undefined),
  ); // whoever asked is told
  return done;
}

async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const target = incoming.url ?? '/';
  const { name, id, path = '' } = NAMED.exec(target)?.groups ?? {};
  const named = name === undefined || id === undefined ? ADDRESS : { name, id };
  const body = await buffer(incoming);
  const result = await inTurn(named, async () => {
    const handler = await instance(named);
    if (named.name === 'rebalance') return handler({}, invocationContext(EVENT_MS_MAX));
    const { method = 'GET' } = incoming;
    return handler(
      apiEvent({ method, target: named === ADDRESS ? target : path, headers: headersOf(incoming), body }),
      invocationContext(),
    );
  });
  const { statusCode = 200, headers = {}, body: text = '', isBase64Encoded = false } = result ?? {};
  outgoing.writeHead(statusCode, headers as Record<string, string>).end(Buffer.from(text, isBase64Encoded ? 'base64' : 'utf8'));
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

createServer((incoming, outgoing) => {
  handle(incoming, outgoing).catch((error: unknown) => {
    console.error(error);
    // What the platform says when a function has failed.
    outgoing.writeHead(502, { 'content-type': 'application/json' }).end('{"message":"Internal Server Error"}');
  });
}).listen(Number(port), '127.0.0.1');
