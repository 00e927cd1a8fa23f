import { STOP_MS_MAX } from '../model/limits.ts';
import { createBroker } from './broker.ts';
import { readConfiguration } from './configuration.ts';
import { explainError } from './explain-error.ts';
import { createHttpServer } from './http-server.ts';

// The broker as a process: everything that it needs to know comes by environment.
try {
  await serve();
} catch (error) {
  console.error(explainError(error));
  process.exit(1);
}

async function serve(): Promise<void> {
  const configuration = readConfiguration(process.env);
  const broker = createBroker(configuration, (line) => console.error(line));
  const server = createHttpServer(broker.fetch);
  const port = await server.listen(configuration.host, configuration.port);
  console.log(`kelp: serving on http://${configuration.host}:${port}`);

  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    // Still listening: a publish is told 503 and where it stands, where a closed port would tell nothing.
    server.drain();
    let code = 0;
    try {
      await broker.stop(AbortSignal.timeout(STOP_MS_MAX));
    } catch (error) {
      console.error(`kelp: stopping before all work has ended: ${String(error)}`);
      code = 1;
    }
    await server.close();
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop());
}
