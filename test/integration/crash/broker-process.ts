import { takePorts } from '../../../infra/local/ports.ts';
import { runServe, type Served, type ServeOptions } from '../run-serve.ts';

/** A broker that dies and comes back under one address. */
export type BrokerProcess = {
  readonly url: string;
  pid(): number;
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM. Resolves when it has ended. */
  stop(): Promise<{ readonly code: number | null; readonly errors: string }>;
  /** Kills it if it runs, and gives the port back. */
  close(): Promise<void>;
  /** What it has said on its error output in all its lives. */
  errors(): string;
};

export async function createBrokerProcess(addresses: Pick<ServeOptions, 'store' | 'table'>): Promise<BrokerProcess> {
  const ports = await takePorts(1);
  const port = ports.at(0);
  let running: Served | undefined;
  let errors = '';

  function alive(): Served {
    if (running === undefined) throw new Error('the broker does not run');
    return running;
  }

  async function end(signal: NodeJS.Signals): ReturnType<BrokerProcess['stop']> {
    const served = alive();
    served.signal(signal);
    const exit = await served.exited;
    running = undefined;
    errors += exit.errors;
    return exit;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    pid: () => alive().pid,
    async start() {
      running = await runServe({ ...addresses, port });
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    async close() {
      if (running !== undefined) await end('SIGKILL');
      ports.release();
    },
    errors: () => errors,
  };
}
