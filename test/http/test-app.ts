import { createHash } from 'node:crypto';
import type { Hono } from 'hono';
import { createMemoryPresigner, type MemoryPresigner } from '../../src/adapters/memory/memory-presigner.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createRecordingTelemetry, type RecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { createAuthenticator } from '../../src/adapters/system/authenticator.ts';
import { createBackground, type SystemBackground } from '../../src/adapters/system/background.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { type Broker, type BrokerPorts, createBroker } from '../../src/broker/create-broker.ts';
import { allHandlers } from '../../src/http/all-handlers.ts';
import { createApp } from '../../src/http/app.ts';
import type { HttpDependencies } from '../../src/http/dependencies.ts';
import { READ_BYTES_MAX, REQUEST_BYTES_MAX, WAIT_MS_MAX } from '../../src/model/limits.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { IDLE } from '../../src/model/broker.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { checkAnswer } from './check-answer.ts';
import { createFakeControl } from './fake-control.ts';

export const TOKEN = 'test-token-0123456789';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON; throws if it isn't. */
  readonly json: any;
};

export type Sending = {
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, with its type; a stream as it comes. */
  readonly body?: Uint8Array | string | object;
  /** null: none. */
  readonly token?: string | null;
  readonly signal?: AbortSignal;
};

export type TestApp = {
  readonly app: Hono;
  readonly broker: Broker;
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  /** Where clients send what was signed for them. */
  readonly presigner: MemoryPresigner;
  readonly telemetry: RecordingTelemetry;
  readonly background: SystemBackground;
  readonly deps: HttpDependencies;
  /** Told to stop; everything is still served. */
  leave(): void;
  /** Stops waiting readers. */
  stop(): void;
  /** Sends a request, reads the answer whole, and holds it against the documents. */
  send(method: string, path: string, sending?: Sending): Promise<Answer>;
  /** Opens a stream of events and reads it until there are so many of them, then leaves; answers its text. */
  events(path: string, count: number): Promise<string>;
};

export type TestAppOptions = {
  readonly table?: MetadataTable;
  readonly store?: ObjectStore;
  /** That of a `store` which is given: what is sent by another one doesn't come there. */
  readonly presigner?: MemoryPresigner;
  readonly clock?: Clock;
  /** The real control plane in place of the fake, as this broker; without `self` as nobody that others know. */
  readonly plane?: Pick<BrokerPorts, 'self' | 'peers'>;
  /** Puts something else in place of what it is given. */
  readonly change?: (deps: HttpDependencies) => Partial<HttpDependencies>;
};

/** The whole API over the real engine and stores in memory; the control plane is a fake, unless the real one is asked for. */
export function createTestApp(options: TestAppOptions = {}): TestApp {
  const memory = createMemoryStore();
  const { table = createMemoryTable(), store = memory, clock = createSystemClock() } = options;
  const presigner = options.presigner ?? createMemoryPresigner({ store: memory, clock });
  const telemetry = createRecordingTelemetry();
  const background = createBackground({ clock, telemetry });
  const compression = createCompression({ codec: 'zstd' });
  const broker = createBroker({
    table,
    store,
    presigner,
    clock,
    random: createSystemRandom(),
    telemetry,
    compression,
    background,
    authenticator: createAuthenticator(['secret-of-the-tests']),
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    meter: { sample: () => IDLE },
    ...options.plane,
  });
  const leaving = new AbortController();
  const stopping = new AbortController();
  const own: HttpDependencies = {
    ...broker,
    ...(options.plane === undefined ? { control: createFakeControl() } : {}),
    telemetry,
    clock,
    compression,
    rootToken: TOKEN,
    limits: { requestBytesMax: REQUEST_BYTES_MAX, readBytesMax: READ_BYTES_MAX, waitMsMax: WAIT_MS_MAX },
    runtime: { streams: true, remainingMs: () => undefined },
    metrics: () => Promise.resolve('kelp_up 1\n'),
    leaving: leaving.signal,
    stopping: stopping.signal,
  };
  const deps = { ...own, ...options.change?.(own) };
  const app = createApp(deps, allHandlers(deps));
  return {
    app,
    broker,
    table,
    store,
    presigner,
    telemetry,
    background,
    deps,
    leave: () => leaving.abort(),
    stop: () => stopping.abort(),
    send: (method, path, sending) => send((request) => app.fetch(request), method, path, sending),
    events: async (path, count) => readEvents(await app.fetch(requestOf('GET', path, { headers: { accept: 'text/event-stream' } })), count),
  };
}

async function readEvents(response: Response, count: number): Promise<string> {
  let text = '';
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  while (text.split('\ndata: ').length <= count) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended after ${text}`);
    text += Buffer.from(value).toString();
  }
  await reader.cancel();
  return text;
}

type Fetch = (request: Request) => Response | Promise<Response>;

export async function send(fetch: Fetch, method: string, path: string, sending: Sending = {}): Promise<Answer> {
  const response = await fetch(requestOf(method, path, sending));
  const bytes = new Uint8Array(await response.arrayBuffer());
  checkAnswer(method, path.split('?')[0] ?? '', response, bytes);
  const text = Buffer.from(bytes).toString();
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    get json() {
      return JSON.parse(text) as unknown;
    },
  };
}

export function requestOf(method: string, path: string, { headers, body, token = TOKEN, signal }: Sending): Request {
  const isStream = body instanceof ReadableStream;
  const isObject = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array) && !isStream;
  return new Request(`http://kelp.test${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(isObject ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: (isObject ? JSON.stringify(body) : body) as string | Uint8Array<ArrayBuffer> }),
    ...(isStream ? { duplex: 'half' as const } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
}
