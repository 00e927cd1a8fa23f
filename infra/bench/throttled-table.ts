import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AnyAttributes, jsonAttributes } from '../../src/adapters/dynamodb/attribute-value.ts';
import { itemBytes } from '../../src/adapters/memory/item-bytes.ts';
import { passOn, type PassedAnswer, type Passing, receive, reply } from './pass-on.ts';
import { createWriteRate, type WriteRate } from './write-rate.ts';

export type ThrottledTable = {
  readonly url: string;
  /** Writes that went through, what they cost, and writes that were refused; since the start. */
  counts(): TableCounts;
  close(): Promise<void>;
};
export type TableCounts = { readonly writes: number; readonly units: number; readonly refused: number };

export type ThrottledTableOptions = {
  /** URL of the table that does the work. */
  readonly target: string;
  /** Of each partition key. */
  readonly unitsPerSecond: number;
  readonly burstSeconds: number;
  readonly nowMs: () => number;
};

const LOCAL = '127.0.0.1';
const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem']);
const UNIT_BYTES = 1_024;
const IDLE_MS = 60_000;
const REFUSED = Buffer.from(
  JSON.stringify({
    __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException',
    message: 'The level of configured provisioned throughput for one or more partitions of the table was exceeded.',
  }),
);

/**
 * Stands before a table that takes all that comes, and refuses writes as DynamoDB does where one partition key gets too many: a
 * write costs a unit for each KiB of the item, as it was or as it is afterwards, whichever is larger. Of what is refused the
 * table hears nothing. All else passes as it came.
 */
export async function startThrottledTable({ target, ...rate }: ThrottledTableOptions): Promise<ThrottledTable> {
  const context: Context = {
    target: new URL(target),
    agent: new Agent({ keepAlive: true }),
    rate: createWriteRate(rate),
    sizes: new Map(),
    counts: { writes: 0, units: 0, refused: 0 },
  };
  const server = createServer({ keepAliveTimeout: IDLE_MS }, (incoming, outgoing) => {
    // Whatever happens in between is to the broker a connection that was cut.
    handle(context, incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, LOCAL, resolve));
  return {
    url: `http://${LOCAL}:${(server.address() as AddressInfo).port}`,
    counts: () => ({ ...context.counts }),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      context.agent.destroy();
      await closed;
    },
  };
}

type Context = {
  readonly target: URL;
  readonly agent: Agent;
  readonly rate: WriteRate;
  /** Bytes of the items that were written, as they were seen last. */
  readonly sizes: Map<string, number>;
  readonly counts: { writes: number; units: number; refused: number };
};

async function handle(context: Context, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const passing = await receive(incoming);
  reply(outgoing, WRITES.has(passing.operation) ? await write(context, passing) : await passOn(context, passing));
}

type Key = { readonly pk: { readonly S: string }; readonly sk: { readonly S: string } };
type WriteBody = { readonly Key?: Key; readonly Item?: AnyAttributes & Key };
/** `Attributes`: the item that was written, or deleted; `Item`: the one on which a condition failed, which costs as much. */
type WriteAnswer = { readonly Attributes?: AnyAttributes; readonly Item?: AnyAttributes };

async function write(context: Context, passing: Passing): Promise<PassedAnswer> {
  const { rate, sizes, counts } = context;
  const { Key, Item } = JSON.parse(passing.body.toString()) as WriteBody;
  const key = Key ?? Item;
  if (key === undefined) return passOn(context, passing);
  const partition = key.pk.S;
  const id = `${partition} ${key.sk.S}`;
  const before = Math.max(sizes.get(id) ?? 0, bytesOf(Item));
  const expected = unitsOf(before);
  if (!rate.admit(partition, expected)) {
    counts.refused += 1;
    return { status: 400, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: REFUSED };
  }
  const answer = await passOn(context, passing);
  const { Attributes: written, Item: found } = JSON.parse(answer.body.toString()) as WriteAnswer;
  const after = bytesOf(written ?? found ?? Item);
  const units = Math.max(expected, unitsOf(after));
  sizes.set(id, after);
  rate.charge(partition, units - expected);
  counts.writes += 1;
  counts.units += units;
  return answer;
}

const unitsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / UNIT_BYTES));

const bytesOf = (item: AnyAttributes | undefined): number => (item === undefined ? 0 : itemBytes(jsonAttributes.decodeMap(item)));
