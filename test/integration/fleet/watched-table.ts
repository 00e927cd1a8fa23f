import { jsonAttributes } from '../../../src/adapters/dynamodb/attribute-value.ts';
import { decodeTopic } from '../../../src/format/topic-item.ts';
import type { Topic } from '../../../src/model/topic.ts';
import type { TableAddress } from '../../stack.ts';
import { recordTopology } from '../../topology/topology-watch.ts';
import { type FaultProxy, startFaultProxy } from '../fault-proxy.ts';

export type WatchedTable = {
  /** For the brokers. */
  readonly table: TableAddress;
  /** All versions of a topic that were written so far, in order. */
  versions(name: string): readonly Topic[];
  /** What is wrong with any version of any topic. */
  problems(): string[];
  /** As of FaultProxy. */
  plant: FaultProxy['plant'];
  close(): Promise<void>;
};

type Put = { readonly Item: { readonly pk: { readonly S: string }; readonly sk: { readonly S: string } } };

/** A way to the table that sees each version of a topic's item which is written, whatever its broker comes to know of that. */
export async function watchTable(table: TableAddress): Promise<WatchedTable> {
  const record = recordTopology();
  const ids = new Map<string, Topic['id']>();
  const proxy = await startFaultProxy(table.endpoint, ({ operation, body }, status) => {
    if (operation !== 'PutItem' || status !== 200) return;
    const { Item } = JSON.parse(body.toString()) as Put;
    if (!Item.pk.S.startsWith('t#') || Item.sk.S !== 'topic') return;
    const topic = decodeTopic(jsonAttributes.decodeMap(Item));
    ids.set(topic.name, topic.id);
    record.saw(topic);
  });
  return {
    table: { ...table, endpoint: proxy.url },
    versions(name) {
      const id = ids.get(name);
      return id === undefined ? [] : record.versions(id);
    },
    problems: record.problems,
    plant: proxy.plant,
    close: proxy.close,
  };
}
