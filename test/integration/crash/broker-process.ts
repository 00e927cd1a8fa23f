import { takePorts } from '../../../infra/local/ports.ts';
import { runServe, type Served, type ServeOptions } from '../run-serve.ts';

/** A broker that dies and comes back under one address. */
export type BrokerProcess = {
  readonly url: string;
  pid(): number;
  /** Neither ended nor paused. */
  running(): boolean;
  /** With modules and variables that this life alone has. */
  start(own?: Pick<ServeOptions, 'imports' | 'environment'>): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM. Resolves when it has ended. */
  stop(): Promise<{ readonly code: number | null; readonly errors: string }>;
  /** SIGSTOP and SIGCONT: it stands still, with all its connections. */
  pause(): void;
  resume(): void;
  /** Resolves when it has ended by itself. */
  ended(): ReturnType<BrokerProcess['stop']>;
  /** Kills it if it runs, and gives the port back. */
  close(): Promise<void>;
  /** What it has said on its error output in all its lives. */
  errors(): string;
};

export type BrokerProcessOptions = Pick<ServeOptions, 'store' | 'table' | 'imports'> & {
  /** What it has besides, by its address. */
  readonly environment?: (url: string) => Readonly<Record<string, string>>;
};

export async function createBrokerProcess({ environment = () => ({}), ...options }: BrokerProcessOptions): Promise<BrokerProcess> {
  const ports = await takePorts(1);
  const port = ports.at(0);
  const url = `http://127.0.0.1:${port}`;
  let running: Served | undefined;
  let paused = false;
  let errors = '';

  function alive(): Served {
    if (running === undefined) throw new Error('the broker does not run');
    return running;
  }

  async function ended(): ReturnType<BrokerProcess['stop']> {
    const served = alive();
    const exit = await served.exited;
    if (running === served) {
      running = undefined;
      errors += exit.errors;
    }
    return exit;
  }

  function end(signal: NodeJS.Signals): ReturnType<BrokerProcess['stop']> {
    alive().signal(signal);
    return ended();
  }

  return {
    url,
    pid: () => alive().pid,
    running: () => running !== undefined && !paused,
    async start(own = {}) {
      paused = false;
      const imports = [...(options.imports ?? []), ...(own.imports ?? [])];
      running = await runServe({ ...options, port, imports, environment: { ...environment(url), ...own.environment } });
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    pause() {
      alive().signal('SIGSTOP');
      paused = true;
    },
    resume() {
      alive().signal('SIGCONT');
      paused = false;
    },
    ended,
    async close() {
      if (running !== undefined) await end('SIGKILL');
      ports.release();
    },
    errors: () => errors,
  };
}
