import { expect } from 'vitest';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import type { Broker } from '../../src/broker/create-broker.ts';
import { encodeProblem } from '../../src/format/peer-problem.ts';
import { problemOf } from '../../src/http/problem.ts';
import type { BrokerKind } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import type { Peers } from '../../src/ports/peers.ts';
import { createTestApp, type TestApp } from './test-app.ts';

/** Instances of one Kelp on stores in memory, each with the whole API; they ask each other by calls. */
export type TestFleet = {
  /** Starts a broker, and answers once it is registered. */
  join(id: string, kind?: BrokerKind): Promise<TestApp>;
  /** An instance that no other knows, and that can ask nobody. */
  stranger(): TestApp;
  /** Nobody listens any more, and nothing was said: as after kill -9, but for the lease, if it led. */
  kill(id: string): Promise<void>;
  /** As a process that was told to stop. */
  leave(id: string): Promise<void>;
  /** Ends all of them. */
  end(): Promise<void>;
};

type Running = { readonly broker: Broker; readonly end: AbortController; readonly done: Promise<void> };

const START_MS = 5_000;

export function createTestFleet(): TestFleet {
  const table = createMemoryTable();
  const store = createMemoryStore();
  const running = new Map<string, Running>();
  const peers = createPeers(running);

  const fleet: TestFleet = {
    async join(id, kind = 'process') {
      const app = createTestApp({ table, store, plane: { self: { id: id as BrokerId, url: `http://${id}:7333`, kind, zone: '' }, peers } });
      const { broker } = app;
      const end = new AbortController();
      running.set(id, { broker, end, done: broker.control.run(end.signal) });
      const isListed = async (): Promise<boolean> =>
        (await broker.control.brokers(AbortSignal.timeout(START_MS))).some((one) => one.id === id);
      await expect.poll(isListed, { timeout: START_MS }).toBe(true);
      return app;
    },
    stranger: () => createTestApp({ table, store, plane: {} }),
    async kill(id) {
      const broker = running.get(id);
      running.delete(id);
      broker?.end.abort();
      await broker?.done;
    },
    async leave(id) {
      await running.get(id)?.broker.control.leave(AbortSignal.timeout(START_MS * 2));
      await fleet.kill(id);
    },
    async end() {
      await Promise.all([...running.keys()].map((id) => fleet.kill(id)));
    },
  };
  return fleet;
}

/** As over HTTP: who isn't there refuses, and errors come over as problems. */
function createPeers(running: ReadonlyMap<string, Running>): Peers {
  return {
    async send({ broker, operation, body }, signal) {
      signal.throwIfAborted();
      const operate = running.get(broker.id)?.broker.operations[operation];
      if (operate === undefined) throw new KelpError('unavailable', 'peer-refused', 'nobody listens, or it does no such thing');
      try {
        return { status: 200, body: await operate(Buffer.concat(body), signal) };
      } catch (error) {
        return { status: problemOf(error).status, body: encodeProblem(error) };
      }
    },
  };
}
