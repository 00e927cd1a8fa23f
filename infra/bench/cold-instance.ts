import { pathToFileURL } from 'node:url';

// One instance of a function, in a process that has just begun: `node cold-instance.ts BUNDLE HANDLER EVENT`. Its environment is the
// function's; the handler is one that answers whole.
// Prints one line of JSON: how long the bundle took to load, the first event, and later ones.
type Handler = (event: unknown, context: { getRemainingTimeInMillis(): number }) => Promise<{ statusCode?: number } | undefined>;

const WARM_EVENTS = 20;
const TIME_MS = 29_000;

const [bundle = '', name = '', event = ''] = process.argv.slice(2);
// A function writes its log there; the answer is this process' own.
console.log = console.error;
// The platform's Node has these, and so what streams is made there as well.
Object.assign(globalThis, { awslambda: { streamifyResponse: (streaming: Handler) => streaming, HttpResponseStream: {} } });

const { handler, importMs, importCpuMs } = await load();
const firstMs = await invoke();
const warmMs: number[] = [];
for (let n = 0; n < WARM_EVENTS; n += 1) warmMs.push(await invoke());
process.stdout.write(`${JSON.stringify({ importMs, importCpuMs, firstMs, warmMs })}\n`);

type Loaded = { readonly handler: Handler; readonly importMs: number; readonly importCpuMs: number };

async function load(): Promise<Loaded> {
  const beganMs = performance.now();
  const usedBefore = process.cpuUsage();
  const { [name]: exported } = (await import(pathToFileURL(bundle).href)) as Readonly<Record<string, Handler>>;
  const { user, system } = process.cpuUsage(usedBefore);
  if (exported === undefined) throw new RangeError(`${bundle} has no handler ${name}`);
  return { handler: exported, importMs: performance.now() - beganMs, importCpuMs: (user + system) / 1_000 };
}

async function invoke(): Promise<number> {
  const beganMs = performance.now();
  const result = await handler(JSON.parse(event), { getRemainingTimeInMillis: () => beganMs + TIME_MS - performance.now() });
  const ms = performance.now() - beganMs;
  if ((result?.statusCode ?? 200) >= 300) throw new RangeError(`the function answered ${JSON.stringify(result)}`);
  return ms;
}
