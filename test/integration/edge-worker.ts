import { Miniflare, type WorkerdStructuredLog } from 'miniflare';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { z } from 'zod';
import { send } from '../http/test-app.ts';
import type { Send } from './http-scenario.ts';
import { ROOT_TOKEN } from './run-serve.ts';

const CONFIGURATION = join(import.meta.dirname, '..', '..', 'infra', 'edge', 'wrangler.jsonc');
const Wrangler = z.strictObject({
  name: z.string(),
  main: z.string(),
  no_bundle: z.literal(true),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  observability: z.object({ enabled: z.boolean() }),
  vars: z.record(z.string(), z.string()),
  secrets: z.object({ required: z.array(z.string()) }),
});

/** What is deployed, as far as it is configuration. */
export function readWrangler(): z.infer<typeof Wrangler> {
  const { config, error } = ts.readConfigFile(CONFIGURATION, (file) => readFileSync(file, 'utf8'));
  if (error !== undefined) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'));
  return Wrangler.parse(config);
}

export type EdgeWorker = {
  readonly send: Send;
  /** What it wrote: whatever it logs, and what the runtime complains about. */
  readonly log: readonly string[];
  stop(): Promise<void>;
};

/** The bundle in workerd, as its configuration says. `environment`: its variables and secrets. */
export async function startEdge(file: string, environment: Readonly<Record<string, string>>): Promise<EdgeWorker> {
  const { compatibility_date, compatibility_flags } = readWrangler();
  const log: string[] = [];
  const worker = new Miniflare({
    modules: [{ type: 'ESModule', path: 'edge.mjs', contents: readFileSync(file, 'utf8') }],
    compatibilityDate: compatibility_date,
    compatibilityFlags: compatibility_flags,
    bindings: environment,
    host: '127.0.0.1',
    structuredWorkerdLogs: true,
    handleStructuredLogs: ({ message }: WorkerdStructuredLog) => void log.push(message),
  });
  const url = await worker.ready;
  const fetchIt = async ({ method, headers, body, signal, url: at }: Request): Promise<Response> => {
    const { pathname, search } = new URL(at);
    const target = new URL(`${pathname}${search}`, url);
    return fetch(target, { method, headers, signal, ...(body === null ? {} : { body: await new Response(body).bytes() }) });
  };
  return {
    log,
    send: (method, path, sending) => send(fetchIt, method, path, { token: ROOT_TOKEN, ...sending }),
    stop: () => worker.dispose(),
  };
}
