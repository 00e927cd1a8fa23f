import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { OSLS } from '../../infra/local/package-functions.ts';
import { readFunctionConfiguration } from '../../src/cli/function-configuration.ts';

type Settings = {
  readonly SETTINGS: Readonly<Record<string, unknown>>;
  problemsOf(given: { readonly stage: string; readonly values: Readonly<Record<string, unknown>> }): string[];
};
const ROOT = join(import.meta.dirname, '..', '..');
const { SETTINGS, problemsOf } = createRequire(import.meta.url)('../../infra/stack/settings.cjs') as Settings;

const DEFAULTS = { entry: 'http-api', network: 'public', logDays: 30, secretsRevision: 1, leaderReserved: 2 };
const problems = (values: Readonly<Record<string, unknown>>, stage = 'dev'): string[] =>
  problemsOf({ stage, values: { ...DEFAULTS, ...values } });

test.each([
  ['entry', 'function-urls'],
  ['publicUrl', 'https://kelp.example.com'],
  ['s3PublicEndpoint', 'https://files.example.com/s3/'],
  ['secretsRevision', '2026-11-30'],
  ['alarmTopic', 'arn:aws:sns:us-east-1:000000000000:alarms'],
  ['alarmTopic', 'arn:aws-cn:sns:cn-north-1:000000000000:alarms.fifo'],
  ['environmentKey', 'arn:aws:kms:us-east-1:000000000000:key/00000000-0000-4000-8000-000000000000'],
  ['logDays', '5'],
  ['logDays', 3_653],
  ['brokerMemory', '10240'],
  ['brokerReserved', 0],
  ['leaderProvisioned', '2'],
  ['brokerProvisioned', 999],
  ['archiveAgeMs', 0],
  ['archiveBytes', '67108864'],
  ['garbageAgeMs', '604800000'],
  ['publicUrl', '${ssm:/kelp/public-url}'],
  ['publicUrl', null],
])('%s may be %s', (name, value) => {
  expect(problems({ [name]: value })).toEqual([]);
});

test.each([
  ['entry', 'nothing', 'must be "http-api" or "function-urls"'],
  ['network', 'private', 'must be "public" or "vpc"'],
  ['publicUrl', 'notaurl', 'must be an origin'],
  ['publicUrl', 'https://kelp.example.com/path', 'must be an origin'],
  ['s3PublicEndpoint', 'files.example.com', 'must be a URL'],
  ['alarmTopic', 'xxx', 'must be the ARN of an SNS topic'],
  ['environmentKey', 'arn:aws:kms:us-east-1:000000000000:alias/kelp', 'must be the ARN of a KMS key'],
  ['logDays', '6', 'must be one of 1, 3, 5, 7, '],
  ['secretsRevision', 'a b', 'must be 1 to 64 of [A-Za-z0-9._-]'],
  ['readMemory', '127', 'must be a number of MB from 128 to 10240'],
  ['leaderReserved', '-1', 'must be a number of instances from 0'],
  ['archiveAgeMs', '604800001', 'must be a number of milliseconds from 0'],
  ['archiveBytes', '65535', 'must be a number of bytes from 65536'],
  ['garbageAgeMs', '1h', 'must be a number of milliseconds from 0'],
  ['readProvisioned', '0', 'must be a number of instances from 1'],
  ['subnetIds', 'subnet-1;subnet-2', 'must be ids of subnets'],
  ['securityGroupIds', 'subnet-1', 'must be ids of security groups'],
])('%s may not be %s', (name, value, what) => {
  const found = problems({ [name]: value });
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(`the setting "${name}" ${what}`);
  expect(found[0]).toMatch(new RegExp(`, but is "${value.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)}"$`));
});

test.each(['typo', 'constructor', 'Entry'])('there is no setting "%s"', (name) => {
  expect(problems({ [name]: 1 })).toEqual([`there is no setting "${name}": infra/README.md names them all`]);
});

test('what goes with another setting', () => {
  const subnetIds = 'subnet-11111111,subnet-22222222';
  expect(problems({ network: 'vpc', subnetIds, securityGroupIds: 'sg-1' })).toEqual([]);
  expect(problems({ network: 'vpc', subnetIds })).toEqual(['the setting "securityGroupIds" is missing: "network" is "vpc"']);
  expect(problems({ leaderProvisioned: 3 })).toEqual(['the setting "leaderProvisioned" must be no more than "leaderReserved"']);
});

test('names of functions end at 64 characters, and so does a stage in them', () => {
  const stage = 'a'.repeat(64 - 'kelp--readBuffered'.length);
  expect(problems({}, stage)).toEqual([]);
  expect(problems({}, `${stage}a`)).toEqual([expect.stringMatching(/^the stage must be 1 to 46 of /)]);
  expect(problems({}, 'a_b')).toEqual([expect.stringMatching(/^the stage must be 1 to 46 of .*, but is "a_b"$/)]);
});

test.each([
  'https://a.example',
  'http://127.0.0.1:7333/',
  'HTTPS://A.example:443',
  'notaurl',
  'ftp://a',
  'https://a/b',
  'https://a?b',
  'https://u@a',
  'https://a/s3',
  'https://a/s3/',
  'https://a//s3',
  'https://a/s 3',
  'https://a/b/c-d_~.e',
  'https://a/#x',
  'http://',
])('of the URL "%s" the functions think the same', (text) => {
  for (const [setting, variable] of [
    ['publicUrl', 'KELP_PUBLIC_URL'],
    ['s3PublicEndpoint', 'KELP_S3_PUBLIC_ENDPOINT'],
  ] as const) {
    expect([setting, problems({ [setting]: text }).length]).toEqual([setting, isAccepted(variable, text) ? 0 : 1]);
  }
});

function isAccepted(variable: string, text: string): boolean {
  const keys = { KELP_S3_ACCESS_KEY: 'access', KELP_S3_SECRET_KEY: 'secret' };
  const rest = { KELP_ROOT_TOKEN: 'root-token-of-the-test', KELP_SECRET: 'a-secret-of-the-test', KELP_S3_ENDPOINT: 'http://127.0.0.1:1' };
  try {
    readFunctionConfiguration({ ...rest, ...keys, [variable]: text });
    return true;
  } catch {
    return false;
  }
}

test('the settings are those that the stack reads, and that the page names', () => {
  const stack = readdirSync(join(ROOT, 'infra', 'stack')).filter((name) => /\.(yml|cjs)$/.test(name));
  const texts = ['serverless.yml', ...stack.map((name) => join('infra', 'stack', name))].map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  );
  const read = texts.flatMap((text) => [...text.matchAll(/param:(\w+)/g)].map(([, name]) => name));
  expect(Object.keys(SETTINGS).toSorted()).toEqual([...new Set(read)].toSorted());
  const [, page = ''] = /\n### Settings\n([^]*?)\n### /.exec(readFileSync(join(ROOT, 'infra', 'README.md'), 'utf8')) ?? [];
  expect(Object.keys(SETTINGS).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('packaging says what is wrong, a line for each, before anything else', async () => {
  const given = ['entry=nothing', 'typo=1', 'alarmTopic=xxx', 'publicUrl=notaurl'].flatMap((text) => ['--param', text]);
  const said = await packaging([...given, '--stage', 'a'.repeat(80)]);
  expect(said.match(/^(?:the|there) .*/gm)).toEqual([
    expect.stringMatching(/^the stage must be /),
    expect.stringMatching(/^the setting "entry" must be /),
    expect.stringMatching(/^there is no setting "typo"/),
    expect.stringMatching(/^the setting "alarmTopic" must be /),
    expect.stringMatching(/^the setting "publicUrl" must be /),
  ]);
  expect(said).not.toContain('Cannot resolve');
});

test('packaging says that nothing was built', async () => {
  expect(await packaging([])).toMatch(/^not built: dist\/functions\/broker\.mjs, .*; "npm run build" makes them$/m);
});

/** What it writes, in a folder in which nothing was built; it has to fail. */
async function packaging(args: readonly string[]): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-settings-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  cpSync(join(ROOT, 'serverless.yml'), join(dir, 'serverless.yml'));
  cpSync(join(ROOT, 'infra'), join(dir, 'infra'), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [OSLS, 'package', ...args], { cwd: dir }, (error, stdout, stderr) => {
      if (error === null) reject(new Error(`it has packaged: ${stdout}`));
      else resolve(`${stdout}${stderr}`);
    });
  });
}
