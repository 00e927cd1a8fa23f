import { removeJoinEnvironment, writeJoinEnvironment } from './join-environment.ts';
import type { Child } from './processes.ts';
import { removeRunning, writeRunning } from './running.ts';
import { type Base, firstToEnd, startBase, type StartOptions as BaseOptions } from './start-base.ts';
import { type Brokers, checkShared, namePrefix, startBrokers } from './start-brokers.ts';

export type StartOptions = BaseOptions & {
  /** Default: 1. */
  readonly brokers?: number;
};

export type Kelp = {
  readonly url: string;
  readonly rootToken: string;
  readonly brokers: readonly { readonly id: string; readonly url: string }[];
  /** Resolves with a process that ended without being asked. */
  readonly failed: Promise<Child>;
  /** Restarts the brokers one after the other, so that somebody always serves. Error `unavailable`/`not-ready`. */
  restartBrokers(signal: AbortSignal): Promise<void>;
  /** Ends everything within ten seconds; where stores run elsewhere, brokers hand over what they have first. */
  stop(): Promise<void>;
};

/** Starts all of Kelp on this machine: the stores that the environment doesn't name, then the brokers. */
export async function startKelp(options: StartOptions): Promise<Kelp> {
  const { say, signal, brokers: count = 1 } = options;
  checkShared(count, options.environment);
  const base = await startBase(options);
  const { dir, children, environment, configuration, own } = base;
  const undo: (() => Promise<void> | void)[] = [base.stop];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const keeping = { children, say, signal };
    const brokers = await startBrokers({ count, environment, configuration, prefix: namePrefix(own.table, dir), keeping });
    // Brokers elsewhere can't go on without these stores: there is nobody to hand anything to.
    undo.push(() => brokers.stop({ hurried: own.store || own.table }));
    writeJoinEnvironment(dir, environment);
    if (own.store || own.table) undo.push(() => removeJoinEnvironment(dir));
    writeRunning(dir, { pid: process.pid, url: brokers.url, brokers: brokers.kept.map(({ id }) => id) });
    undo.push(() => removeRunning(dir));
    say(`serving on ${brokers.url}`);
    return kelpOf(brokers, base, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function kelpOf(brokers: Brokers, { configuration, stores }: Base, stop: () => Promise<void>): Kelp {
  const { url, kept, restartEach } = brokers;
  const failed = Promise.race([brokers.failed, firstToEnd(stores)]);
  return { url, rootToken: configuration.rootToken, brokers: kept, failed, restartBrokers: restartEach, stop };
}
