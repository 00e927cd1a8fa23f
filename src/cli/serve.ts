import { createSystemClock } from '../adapters/system/clock.ts';
import { startArchiveThread } from './archive-thread.ts';
import { createBroker } from './broker.ts';
import { readConfiguration } from './configuration.ts';
import { explainError } from './explain-error.ts';
import { createHttpServer } from './http-server.ts';
import { createLogOutput } from './log-output.ts';
import { openTable } from './open-table.ts';
import { isEverywhere, reachableUrl } from './reachable-url.ts';
import { stopServing } from './stop-serving.ts';

/** A signal that comes twice within this is one: a group gets it, and so does each of it from whoever started it. */
const SAME_SIGNAL_MS = 100;

const write = createLogOutput(process.stderr);
const say = createLogOutput(process.stdout);

// The broker as a process: everything that it needs to know comes by environment.
try {
  await serve();
} catch (error) {
  write(explainError(error));
  process.exit(1);
}

async function serve(): Promise<void> {
  const configuration = readConfiguration(process.env);
  const { host } = configuration;
  const clock = createSystemClock();
  const table = await openTable(configuration.table, clock);
  // Nothing comes in before the address is known, which is the broker's own.
  const server = createHttpServer((request, env) => broker.fetch(request, env));
  const port = await server.listen(host, configuration.port);
  const broker = createBroker(configuration, { table, url: configuration.broker.publicUrl ?? reachableUrl(host, port), write });
  say(`kelp: serving on http://${host}:${port}`);
  if (configuration.broker.publicUrl === undefined && isEverywhere(host)) {
    write(`kelp: KELP_PUBLIC_URL is not set: brokers and clients elsewhere are told to come to ${reachableUrl(host, port)}`);
  }
  const archiver = configuration.archiveMs === 0 ? undefined : startArchiveThread({ clock, telemetry: broker.telemetry, write });

  const hurry = new AbortController();
  let toldMs: number | undefined;
  const stop = async (): Promise<void> => {
    const nowMs = performance.now();
    if (toldMs !== undefined) {
      // Whoever says it again doesn't want to wait for other brokers.
      if (nowMs - toldMs > SAME_SIGNAL_MS) hurry.abort();
      return;
    }
    toldMs = nowMs;
    const [code] = await Promise.all([stopServing({ broker, server, write }, hurry.signal), archiver?.stop()]);
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop());
}
