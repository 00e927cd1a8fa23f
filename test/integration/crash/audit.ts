import { Agent } from 'node:http';
import { checkHistory } from '../../checkers/check-history.ts';
import type { Descent, Finding, Publish, Read } from '../../checkers/history.ts';
import { readByCursor, readBySegment } from '../../clients/reader.ts';
import { ROOT_TOKEN, type ServeOptions } from '../run-serve.ts';
import type { BrokerProcess } from './broker-process.ts';
import { readStores } from './read-stores.ts';

/** One slip makes a finding for each message behind it. */
const FINDINGS_MAX = 20;

type Audited = {
  readonly addresses: Pick<ServeOptions, 'store' | 'table'>;
  readonly broker: BrokerProcess;
  readonly topic: string;
  readonly publishes: readonly Publish[];
  /** What was read while things happened. */
  readonly reads: readonly Read[];
  /** Where who continues whom is looked at as well. */
  readonly segments?: readonly Descent[];
};

export type Audit = {
  readonly findings: readonly Finding[];
  /** Messages. */
  readonly stored: number;
  /** Everything, as it was read afterwards, in each way. */
  readonly complete: readonly Read[];
};

/** Reads everything back through a fresh broker, and with none from bucket and table; leaves a fresh one. */
export async function audit({ addresses, broker, topic, publishes, reads, segments = [] }: Audited): Promise<Audit> {
  await broker.kill();
  const stored = await readStores(addresses, topic);
  await broker.start();
  const agent = new Agent({ keepAlive: true });
  const reader = { topic, token: ROOT_TOKEN, url: () => broker.url, agent };
  const complete = [await readBySegment(reader), await readByCursor(reader), stored];
  agent.destroy();
  const findings = checkHistory({ publishes, reads: [...reads, ...complete], segments }).slice(0, FINDINGS_MAX);
  return { findings, stored: stored.messages.length, complete };
}
