import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSdkTable } from '../../src/adapters/dynamodb/sdk-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { Change, Condition, Item, MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { percentile } from './percentile.ts';
import { takePorts } from '../local/ports.ts';
import { createChildren } from '../local/processes.ts';
import { SEAWEEDFS_PORTS, startSeaweedFs } from '../local/seaweedfs.ts';
import { startTable } from '../local/table.ts';
import { CACHE_DIR, findWeed } from '../local/tools.ts';

// The SDK and the plain signed requests against each other, on real servers, in turns within one run: what src/adapters/README.md
// goes by. `node infra/bench/clients.ts`: a JSON line for each measurement, then a table with the ratios.

type Client = { readonly name: 'sdk' | 'lean'; readonly table: MetadataTable; readonly store: ObjectStore };
type Work = (client: Client, n: number) => Promise<unknown>;
type Case = { readonly name: string; readonly count: number; readonly parallel: number; readonly work: Work };
type Measurement = { readonly client: string; readonly name: string; readonly perSecond: number; readonly cpuSeconds: number };

const ROUNDS = 5;
const KIB = 1_024;
const HEAD = { pk: 'h#bench', sk: 'head' };
const SLOTS = 12;
const clock = createSystemClock();
const { signal } = new AbortController();

/** A commit as the broker makes it, on a head of about 3 KB that does not grow. */
function commit({ table }: Client, n: number): Promise<unknown> {
  const cid = `cid${n % SLOTS}`;
  const condition: Condition = [
    { op: '=', path: ['state'], value: 'open' },
    { op: '<', path: ['g'], value: cid },
    { op: '<=', path: ['f'], value: '29932870' },
    { op: 'size<', path: ['c'], value: 64 },
  ];
  const changes: Change[] = [
    { op: 'copy', path: ['c', cid], from: ['tail'] },
    { op: 'set', path: ['m', cid], value: entry(n) },
    ...['tail', 'messages', 'bytes', 'commits'].map((name) => ({ op: 'add' as const, path: [name], value: 10 })),
    ...Array.from({ length: 16 }, (_, bucket) => ({ op: 'add' as const, path: ['hist', bucket], value: 1 })),
  ];
  return table.update(HEAD, { condition, changes }, signal);
}

function entry(n: number): Item {
  return { o: `29932870/o${String(n).padStart(15, '0')}`, r: Array.from({ length: 8 }, () => [36, 123_456, 100]), t: 1_795_971_600_000 };
}

function head(): Item {
  const slots = Array.from({ length: SLOTS }, (_, n) => `cid${n}`);
  const c = Object.fromEntries(slots.map((cid, n) => [cid, n]));
  const m = Object.fromEntries(slots.map((cid, n) => [cid, entry(n)]));
  return { v: 1, state: 'open', g: '', f: '', tail: 0, messages: 0, bytes: 0, commits: 0, hist: Array.from({ length: 16 }, () => 0), c, m };
}

/** Two parts, as a batch object has at least. */
function put(bytes: number): Work {
  const header = randomBytes(36);
  const body = randomBytes(bytes - header.length);
  return ({ name, store }, n) => store.put(`${name}/${bytes}/o${String(n).padStart(8, '0')}`, [header, body], signal);
}

function get(bytes: number): Work {
  return ({ name, store }, n) => store.getRange(`${name}/${bytes}/o${String(n).padStart(8, '0')}`, 36, bytes - 36, signal);
}

const CASES: readonly Case[] = [
  { name: '1,000 commits, one at a time', count: 1_000, parallel: 1, work: commit },
  { name: '1,000 commits, 32 at a time', count: 1_000, parallel: 32, work: commit },
  { name: '200 PUTs of 64 KiB, one at a time', count: 200, parallel: 1, work: put(64 * KIB) },
  { name: '200 PUTs of 64 KiB, 8 at a time', count: 200, parallel: 8, work: put(64 * KIB) },
  { name: '200 PUTs of 1 MiB, 8 at a time', count: 200, parallel: 8, work: put(KIB * KIB) },
  { name: '200 GETs of 64 KiB, 8 at a time', count: 200, parallel: 8, work: get(64 * KIB) },
  { name: '200 GETs of 1 MiB, 8 at a time', count: 200, parallel: 8, work: get(KIB * KIB) },
];

async function measure({ name, count, parallel, work }: Case, client: Client): Promise<Measurement> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) await work(client, next++);
  };
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  await Promise.all(Array.from({ length: parallel }, run));
  const seconds = (performance.now() - startMs) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { client: client.name, name, perSecond: count / seconds, cpuSeconds: (user + system) / 1e6 };
}

/** Of several rounds, each figure by itself: a neighbour on the machine spoils single ones. */
function middle(rounds: readonly Measurement[]): Measurement {
  const [first] = rounds;
  if (first === undefined) throw new Error('nothing was measured');
  const figures = (figure: 'perSecond' | 'cpuSeconds'): number[] => rounds.map((round) => round[figure]);
  return { ...first, perSecond: percentile(figures('perSecond'), 0.5), cpuSeconds: percentile(figures('cpuSeconds'), 0.5) };
}

async function compare(one: Case, clients: readonly Client[]): Promise<Measurement[]> {
  const rounds: Measurement[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    // In turns, so that neither is always first; round 0 warms up.
    for (const client of round % 2 === 0 ? clients : clients.toReversed()) {
      const measurement = await measure(one, client);
      if (round > 0) rounds.push(measurement);
    }
  }
  const middles = clients.map(({ name }) => middle(rounds.filter(({ client }) => client === name)));
  for (const measurement of middles) console.log(JSON.stringify(measurement));
  return middles;
}

function row([sdk, lean]: readonly Measurement[]): Record<string, string> {
  if (sdk === undefined || lean === undefined) throw new Error('both clients are measured');
  return {
    'SDK ops/s': sdk.perSecond.toFixed(0),
    'lean ops/s': lean.perSecond.toFixed(0),
    'SDK CPU s': sdk.cpuSeconds.toFixed(3),
    'lean CPU s': lean.cpuSeconds.toFixed(3),
    'CPU ratio': (sdk.cpuSeconds / lean.cpuSeconds).toFixed(2),
  };
}

const dir = mkdtempSync(join(tmpdir(), 'kelp-bench-'));
const children = createChildren(dir);
try {
  const ports = await takePorts(SEAWEEDFS_PORTS + 1);
  const weed = await findWeed({ cacheDir: CACHE_DIR, children, say: console.error, signal });
  const names = { bucket: 'kelp', accessKey: 'kelp', secretKey: randomBytes(16).toString('hex') };
  const seaweed = await startSeaweedFs({ dir, weed, ports, children, ...names, signal });
  const dynoxide = await startTable({ kind: 'dynoxide', dir, port: ports.at(SEAWEEDFS_PORTS), table: 'kelp', children, signal });
  const clients: Client[] = [
    { name: 'sdk', table: createSdkTable(dynoxide), store: createSdkStore(seaweed) },
    { name: 'lean', table: createLeanTable({ ...dynoxide, clock }), store: createLeanStore({ ...seaweed, clock }) },
  ];
  await clients[0]?.table.put(HEAD, head(), [], signal);
  const rows: Record<string, Record<string, string>> = {};
  for (const one of CASES) rows[one.name] = row(await compare(one, clients));
  console.table(rows);
} finally {
  await children.stopAll();
  rmSync(dir, { recursive: true, force: true });
}
