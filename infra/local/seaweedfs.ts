import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import type { StoreSettings } from '../../src/adapters/s3/store-settings.ts';
import { makeBucket } from './make-bucket.ts';
import type { PortBlock } from './ports.ts';
import type { Child, Children } from './processes.ts';
import { untilReady } from './until.ts';

/** Neighbouring ports that one SeaweedFS takes, from the block's first. */
export const SEAWEEDFS_PORTS = 5;
const REGION = 'us-east-1';
const READY_MS = 30_000;

export type SeaweedFsOptions = {
  /** Data, settings and logs; the same folder again brings the same objects back. */
  readonly dir: string;
  /** The `weed` binary. */
  readonly weed: string;
  readonly ports: PortBlock;
  readonly children: Children;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Of web pages whose scripts may use what is signed for them; absent: all. */
  readonly origins?: readonly string[];
  readonly signal: AbortSignal;
};

export type SeaweedFs = {
  /** The S3 gateway's URL. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** The filer's URL. It asks for no credentials, so nothing but tests may know it. */
  readonly filer: string;
  readonly child: Child;
  /** SIGTERM; about 2 s. */
  stop(): Promise<void>;
  /** SIGKILL. Started again with the same options it has every acknowledged object. */
  kill(): Promise<void>;
};

/** Starts SeaweedFS on loopback, makes the bucket, and resolves once a PUT has succeeded: health checks answer before that. */
export async function startSeaweedFs(options: SeaweedFsOptions): Promise<SeaweedFs> {
  const { ports, bucket, accessKey, secretKey, children } = options;
  const data = join(options.dir, 'weed');
  mkdirSync(data, { recursive: true });
  const identities = join(options.dir, 's3.json');
  writeFileSync(identities, identitiesOf(options), { mode: 0o600 });
  const child = await children.start({ name: 'weed', file: options.weed, args: flags(data, identities, ports), cwd: data });
  const endpoint = `http://127.0.0.1:${ports.at(3)}`;
  const started = { endpoint, bucket, region: REGION, accessKey, secretKey, filer: `http://127.0.0.1:${ports.at(2)}`, child };
  try {
    await untilWritable(started, options);
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { ...started, stop: () => child.stop(), kill: () => child.kill() };
}

function flags(data: string, identities: string, ports: PortBlock): string[] {
  const settings: Record<string, string | number | boolean> = {
    dir: data,
    ip: '127.0.0.1', // both default to an address that others can reach
    'ip.bind': '127.0.0.1',
    'master.port': ports.at(0),
    'volume.port': ports.at(1),
    'filer.port': ports.at(2),
    's3.port': ports.at(3),
    'volume.preStopSeconds': 0, // there is no other server that could take over
    'admin.port': ports.at(4),
    's3.port.iceberg': 0,
    's3.port.lance': 0,
    's3.config': identities,
    'master.telemetry': false, // on by default
    'admin.ui': false,
    webdav: false,
  };
  return ['-logtostderr=true', 'mini', ...Object.entries(settings).map(([name, value]) => `-${name}=${value}`)];
}

/** Its one identity is the administrator: it makes the bucket. */
function identitiesOf({ accessKey, secretKey }: SeaweedFsOptions): string {
  const credentials = [{ accessKey, secretKey }];
  return JSON.stringify({ identities: [{ name: 'kelp', credentials, actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'] }] });
}

async function untilWritable(
  { child, ...settings }: StoreSettings & { readonly child: Child },
  { origins = ['*'], signal }: Pick<SeaweedFsOptions, 'origins' | 'signal'>,
): Promise<void> {
  const store = createSdkStore(settings);
  await untilReady({ what: 'SeaweedFS', waitMs: READY_MS, signal, child }, async (attempt) => {
    await makeBucket(settings, origins, attempt);
    await store.put('ready', [Buffer.from('ready')], attempt);
  });
}
