import { DynamoDBClient, GetItemCommand, QueryCommand, type AttributeValue } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { zstdDecompressSync } from 'node:zlib';
import { crc32c } from '@node-rs/crc32';
import type { Read, Seen } from '../../checkers/history.ts';
import { seenMessage } from '../../clients/ledger.ts';
import type { StoreAddress, TableAddress } from '../../stack.ts';

// Goes by FORMAT.md alone and shares no code with the product: what it finds is there for anybody who has bucket and table.

type Stores = { readonly table: DynamoDBClient; readonly tableName: string; readonly s3: S3Client; readonly bucket: string };
type Attributes = Record<string, AttributeValue>;
type Entry = { readonly offset: number; readonly object: string; readonly runs: readonly number[] };

const TENANT = 'main';
const BATCH_HEADER_BYTES = 61;
const CODEC_ZSTD = 4;

/** All of a topic that is referenced, with every process of Kelp dead. */
export async function readStores(addresses: { store: StoreAddress; table: TableAddress }, topicName: string): Promise<Read> {
  const stores = connect(addresses);
  const name = await getItem(stores, `n#${TENANT}`, topicName);
  const topic = text(name['topic']);
  const messages: Seen[] = [];
  const tails = new Map<string, number>();
  for (const { segment } of await query(stores, `s#${topic}`)) {
    const id = text(segment);
    const head = await getItem(stores, `h#${topic}#${id}`, 'head');
    tails.set(id, integer(head['tail']));
    for (const entry of [...(await pageEntries(stores, topic, id, integer(head['h']))), ...headEntries(head)]) {
      messages.push(...(await readEntry(stores, { topic, segment: id, entry })));
    }
  }
  stores.s3.destroy();
  stores.table.destroy();
  return { reader: 'bucket and table', complete: true, messages, tails };
}

function connect({ store, table }: { store: StoreAddress; table: TableAddress }): Stores {
  const credentials = ({ accessKey: accessKeyId, secretKey: secretAccessKey }: StoreAddress | TableAddress) => ({
    accessKeyId,
    secretAccessKey,
  });
  return {
    table: new DynamoDBClient({ endpoint: table.endpoint, region: table.region, credentials: credentials(table) }),
    tableName: table.table,
    s3: new S3Client({ endpoint: store.endpoint, region: store.region, forcePathStyle: true, credentials: credentials(store) }),
    bucket: store.bucket,
  };
}

async function getItem({ table, tableName: TableName }: Stores, pk: string, sk: string): Promise<Attributes> {
  const { Item } = await table.send(new GetItemCommand({ TableName, Key: { pk: { S: pk }, sk: { S: sk } }, ConsistentRead: true }));
  if (Item === undefined) throw new Error(`no item ${pk} ${sk}`);
  return Item;
}

async function query({ table, tableName: TableName }: Stores, pk: string): Promise<Attributes[]> {
  const items: Attributes[] = [];
  let ExclusiveStartKey: Attributes | undefined;
  do {
    const page = await table.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: pk } },
        ConsistentRead: true,
        ExclusiveStartKey,
      }),
    );
    items.push(...(page.Items ?? []));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  return items;
}

/** Pages at or above the head's `h` are of spills that were not finished. */
async function pageEntries(stores: Stores, topic: string, segment: string, spilled: number): Promise<Entry[]> {
  const pages = await query(stores, `p#${topic}#${segment}`);
  return pages
    .filter(({ first }) => integer(first) < spilled)
    .flatMap(({ entries }) => (entries?.L ?? []).map(({ M: entry = {} }) => entryOf(entry, integer(entry['c']))));
}

function headEntries({ c, m }: Attributes): Entry[] {
  const entries = Object.entries(c?.M ?? {}).map(([cid, offset]) => entryOf(m?.M?.[cid]?.M ?? {}, integer(offset)));
  return entries.toSorted((a, b) => a.offset - b.offset);
}

const entryOf = (entry: Attributes, offset: number): Entry => ({
  offset,
  object: text(entry['o']),
  runs: (entry['r']?.L ?? []).map(integer),
});

async function readEntry(
  { s3, bucket: Bucket }: Stores,
  { topic, segment, entry }: { topic: string; segment: string; entry: Entry },
): Promise<Seen[]> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: `log/${topic}/${entry.object}` }));
  if (Body === undefined) throw new Error('an object has a body');
  const object = Buffer.from(await Body.transformToByteArray());
  const messages: Seen[] = [];
  for (let i = 0; i < entry.runs.length; i += 3) {
    const [start = 0, bytes = 0, count = 0] = entry.runs.slice(i, i + 3);
    const before = messages.length;
    for (let at = start; at < start + bytes;) {
      const batch = object.subarray(at, at + 12 + object.readInt32BE(at + 8));
      messages.push(...readBatch(batch, segment, entry.offset + messages.length));
      at += batch.length;
    }
    if (messages.length - before !== count)
      throw new Error(`${segment}:${entry.offset} has ${messages.length - before} messages, not ${count}`);
  }
  return messages;
}

function readBatch(batch: Buffer, segment: string, baseOffset: number): Seen[] {
  if (crc32c(batch.subarray(21)) !== batch.readUInt32BE(17)) throw new Error(`${segment}:${baseOffset}: the checksum is wrong`);
  const codec = batch.readInt16BE(21) & 7;
  const stored = batch.subarray(BATCH_HEADER_BYTES);
  const records = { bytes: codec === CODEC_ZSTD ? zstdDecompressSync(stored) : stored, at: 0 };
  return Array.from({ length: batch.readInt32BE(57) }, (_, i) => {
    const end = varint(records) + records.at;
    records.at += 1; // attributes
    varint(records); // timestamp delta
    varint(records); // offset delta
    const key = bytesField(records).toString();
    const value: unknown = JSON.parse(bytesField(records).toString());
    records.at = end; // headers are not looked at
    return seenMessage({ segment, offset: baseOffset + i }, key, value);
  });
}

type Cursor = { readonly bytes: Buffer; at: number };

function bytesField(cursor: Cursor): Buffer {
  const length = varint(cursor);
  cursor.at += length;
  return cursor.bytes.subarray(cursor.at - length, cursor.at);
}

/** Zigzag, seven bits a byte, lowest first. */
function varint(cursor: Cursor): number {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = cursor.bytes.readUInt8(cursor.at++);
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return Number((value >> 1n) ^ -(value & 1n));
  }
}

function integer(attribute: AttributeValue | undefined): number {
  if (attribute?.N === undefined) throw new Error('an attribute is no number');
  return Number(attribute.N);
}

function text(attribute: AttributeValue | undefined): string {
  if (attribute?.S === undefined) throw new Error('an attribute is no text');
  return attribute.S;
}
