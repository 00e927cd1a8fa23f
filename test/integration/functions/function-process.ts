import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { bareEnvironment } from '../bare-environment.ts';

const RUN = join(import.meta.dirname, 'run-function.ts');
const SHIFT_CLOCK = join(import.meta.dirname, '..', 'fleet', 'shift-clock.ts');
const LEFT_MS = 29_000;

/** What became of an event. */
export type Invoked = {
  readonly result?: APIGatewayProxyStructuredResultV2;
  readonly error?: { readonly code?: string; readonly message: string };
  readonly ms: number;
  /** What was still under way when the handler had returned. */
  readonly pending: readonly string[];
};

/** An instance of a function in a process of its own, which the platform may freeze. */
export type FunctionProcess = {
  /** `leftMs`: what the platform gives it. */
  invoke(event: unknown, leftMs?: number): Promise<Invoked>;
  /** So late it is by its wall clock, from now on. */
  setLate(lateMs: number): void;
  /** As a platform does between two events, or in the middle of one. */
  freeze(): void;
  /** `lateMs`: by the wall clock alone, since the other one may have stood still. */
  thaw(lateMs: number): void;
  /** Its lines of log so far. */
  lines(): readonly Readonly<Record<string, unknown>>[];
  signal(name: NodeJS.Signals): void;
  readonly exited: Promise<number | null>;
};

export type FunctionProcessOptions = {
  /** The bundle. */
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A folder of the test's own. */
  readonly dir: string;
};

let processes = 0;

/** Resolves once its bundle is loaded. */
export async function startFunction({ file, environment, dir }: FunctionProcessOptions): Promise<FunctionProcess> {
  processes += 1;
  const clockFile = join(dir, `clock-${processes}`);
  const setLate = (lateMs: number): void => writeFileSync(clockFile, String(lateMs));
  setLate(0);
  const child = fork(RUN, [], {
    env: {
      ...bareEnvironment(),
      KELP_TEST_BUNDLE: pathToFileURL(file).href,
      KELP_TEST_CLOCK_FILE: clockFile,
      KELP_TEST_CLOCK_KNOWN_MS: '0',
      ...environment,
    },
    execArgv: ['--import', SHIFT_CLOCK],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const waiting = new Map<number, (invoked: Invoked) => void>();
  child.on('message', ({ id, ...invoked }: Invoked & { id: number }) => waiting.get(id)?.(invoked));
  await Promise.race([
    once(child, 'message'),
    exited.then((code) => {
      throw new Error(`ended with ${code} before it ran: ${output}`);
    }),
  ]);
  let invocations = 0;
  return {
    exited,
    signal: (name) => void child.kill(name),
    freeze: () => void child.kill('SIGSTOP'),
    setLate,
    thaw(lateMs) {
      setLate(lateMs);
      child.kill('SIGCONT');
    },
    lines: () =>
      output
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    invoke(event, leftMs = LEFT_MS) {
      invocations += 1;
      const { promise, resolve } = Promise.withResolvers<Invoked>();
      waiting.set(invocations, resolve);
      child.send({ id: invocations, event, leftMs });
      return promise;
    },
  };
}
