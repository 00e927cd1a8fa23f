import { join } from 'node:path';
import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { Child, Children, Program } from './processes.ts';
import { findDynoxide } from './tools.ts';
import { untilReady } from './until.ts';

const READY_MS = 30_000;
/** The local servers take any credentials. */
const CREDENTIALS = { region: 'us-east-1', accessKey: 'local', secretKey: 'local' } as const;

export type TableKind =
  /** The embedded default: one binary over SQLite. */
  | { readonly kind: 'dynoxide'; /** Where its file is; absent: in memory. */ readonly dir?: string }
  /** A second implementation for tests, against one emulator's quirks; keeps nothing when it ends. */
  | { readonly kind: 'ministack'; /** The folder that has its modules. */ readonly modules: string };

export type TableOptions = TableKind & {
  readonly port: number;
  /** The table's name, made if absent. */
  readonly table: string;
  readonly children: Children;
  readonly signal: AbortSignal;
};

export type Table = {
  /** URL of the DynamoDB API. */
  readonly endpoint: string;
  readonly table: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly child: Child;
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
};

/** Starts a table server on loopback and makes the table; resolves once the table answers. */
export async function startTable(options: TableOptions): Promise<Table> {
  const { table, signal } = options;
  const address = { endpoint: `http://127.0.0.1:${options.port}`, table, ...CREDENTIALS };
  const child = await options.children.start(options.kind === 'dynoxide' ? dynoxide(options) : ministack(options));
  try {
    await untilReady({ what: `the table (${options.kind})`, waitMs: READY_MS, signal, child }, (attempt) =>
      createTable(address, createSystemClock(), attempt),
    );
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { ...address, child, stop: () => child.stop(), kill: () => child.kill() };
}

function dynoxide({ dir, port }: { readonly dir?: string; readonly port: number }): Program {
  const storage = dir === undefined ? [] : ['--db-path', join(dir, 'table.sqlite')];
  return { name: 'table', file: findDynoxide(), args: ['--host', '127.0.0.1', '--port', String(port), ...storage] };
}

function ministack({ modules, port }: { readonly modules: string; readonly port: number }): Program {
  const env = {
    PYTHONPATH: modules,
    BIND_HOST: '127.0.0.1', // it listens on all addresses by default
    GATEWAY_PORT: String(port),
    LAMBDA_EXECUTOR: 'local',
  };
  return { name: 'ministack', file: process.env['PYTHON'] ?? 'python3', args: ['-m', 'ministack'], env };
}
