import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const BODIES = fileURLToPath(import.meta.resolve('./offline-bodies.ts'));

/** Only these are sent here: others, such as a function's own address, have nothing that would. */
const Event = z.union([z.object({ httpApi: z.unknown() }), z.object({ schedule: z.unknown() })]);
const Environment = z.record(z.string(), z.unknown());
const Function = z.object({
  handler: z.string(),
  timeout: z.int(),
  memorySize: z.int().optional(),
  environment: Environment.optional(),
  events: z.array(Event).optional(),
  package: z.object({ artifact: z.string() }),
});
const State = z.object({
  service: z.object({
    service: z.string(),
    provider: z.object({ runtime: z.string(), region: z.string(), stage: z.string(), environment: Environment.optional() }),
    functions: z.record(z.string(), Function),
  }),
});

export type OfflineOptions = {
  /** Of a broker, complete: what the stack looks up when it is made, is taken from here. */
  readonly environment: Readonly<Record<string, string>>;
  readonly host: string;
  readonly port: number;
  /** For calls of functions by their names. */
  readonly invokePort: number;
};

/**
 * The service as serverless-offline runs it: the packaged functions with their times, routes and schedules, each with the
 * variables that serverless.yml gives it. `folder`: what `osls package` has made.
 */
export function offlineService(folder: string, options: OfflineOptions): object {
  const { service } = State.parse(JSON.parse(readFileSync(join(folder, 'serverless-state.json'), 'utf8')));
  const { environment: common = {}, ...provider } = service.provider;
  const functions = Object.entries(service.functions).map(([name, { environment = {}, events = [], ...given }]) => {
    return [name, { ...given, events, environment: variablesOf({ ...common, ...environment }, options.environment) }];
  });
  const { host, port: httpPort, invokePort: lambdaPort } = options;
  return {
    service: service.service,
    provider: { name: 'aws', ...provider },
    plugins: ['serverless-offline'],
    functions: Object.fromEntries(functions) as object,
    custom: {
      'serverless-offline': { host, httpPort, lambdaPort, disableCookieValidation: true },
      offline: { customAuthenticationProvider: BODIES },
    },
  };
}

/** Where the table is, the platform knows by itself; here every function must be told. */
function variablesOf(given: Readonly<Record<string, unknown>>, environment: Readonly<Record<string, string>>): Record<string, string> {
  const { KELP_TABLE = 'kelp', KELP_TABLE_ENDPOINT = '' } = environment;
  const named = Object.entries(given).flatMap(([name, value]) => {
    const known = environment[name] ?? (typeof value === 'string' && !value.startsWith('{{resolve:') ? value : undefined);
    return known === undefined ? [] : [[name, known] as const];
  });
  return { ...Object.fromEntries(named), KELP_TABLE, KELP_TABLE_ENDPOINT };
}
