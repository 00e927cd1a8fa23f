import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { createChildren } from './local/processes.ts';
import { CACHE_DIR, findCfnLint } from './local/tools.ts';
import { checkRoles } from './stack/check-roles.ts';
import { bundleOf, checkStack, functionsOf, StackSettings } from './stack/check-stack.ts';
import { lintTemplate, unexplained } from './stack/lint-template.ts';
import { TABLE_ACTIONS } from './stack/roles.ts';
import { isSame, readTemplate, resourcesOf } from './stack/template.ts';

// What `osls package` has made, and what it makes of other settings, before anybody deploys it.
const FOLDER = '.serverless';
const OTHER_FOLDER = join('dist/other-settings', FOLDER);
const READY_FOLDER = join('dist/ready-instances', FOLDER);
const ROTATED_FOLDER = join('dist/other-secrets', FOLDER);
const STATE = 'serverless-state.json';
const TEMPLATE = 'cloudformation-template-update-stack.json';
const INSTALL_MS = 600_000;
const ENI = 'arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaENIManagementAccess';

const OTHER = {
  entry: 'function-urls',
  publicUrl: 'https://kelp.example.com',
  s3PublicEndpoint: 'https://files.example.com/s3/',
  network: 'vpc',
  subnetIds: 'subnet-11111111,subnet-22222222',
  securityGroupIds: 'sg-11111111',
  alarmTopic: 'arn:aws:sns:us-east-1:000000000000:alarms',
  environmentKey: 'arn:aws:kms:us-east-1:000000000000:key/00000000-0000-4000-8000-000000000000',
  brokerReserved: '50',
  brokerProvisioned: '2',
};
/** Of what the HTTP API calls. */
const READY = { brokerProvisioned: '2', readBufferedProvisioned: '3', readBufferedReserved: '9' };
const ROTATED = { ...OTHER, secretsRevision: '2' };

const Values = z.record(z.string(), z.unknown());
const State = z.object({
  service: z.object({
    provider: z.object({ stage: z.string() }),
    initialServerlessConfig: z.object({ params: z.record(z.string(), Values) }),
  }),
});

packageWith(OTHER, OTHER_FOLDER);
packageWith(READY, READY_FOLDER);
packageWith(ROTATED, ROTATED_FOLDER);
const names = functionsOf(settingsOf(FOLDER, {}));
const files = names.flatMap(filesOf);
const checks: Readonly<Record<string, boolean>> = {
  ...checksOf(FOLDER, {}),
  ...checksOf(OTHER_FOLDER, OTHER),
  ...checksOf(READY_FOLDER, READY),
  ...checksOf(ROTATED_FOLDER, ROTATED),
  'with other secrets there is another version': !isSame(versionsOf(OTHER_FOLDER), versionsOf(ROTATED_FOLDER)),
  'each function is packaged with its own bundle, and nothing else': isSame(files, names.map(bundleOf)),
};
const failed = Object.entries(checks)
  .filter(([, holds]) => !holds)
  .map(([name]) => name);
const found = await lint([FOLDER, OTHER_FOLDER, READY_FOLDER]);
for (const name of failed) console.error(`not so: ${name}`);
for (const line of found) console.error(line);
console.log(`${Object.keys(checks).length - failed.length} of ${Object.keys(checks).length} hold; packaged: ${files.join(' ')}`);
if (failed.length > 0 || found.length > 0) process.exitCode = 1;

/** In a folder of its own: each packaging removes what the one before has made. */
function packageWith(settings: Readonly<Record<string, string>>, folder: string): void {
  const service = dirname(folder);
  rmSync(service, { recursive: true, force: true });
  for (const path of ['serverless.yml', 'infra/table.yml', 'infra/stack', 'dist/functions']) {
    cpSync(path, join(service, path), { recursive: true });
  }
  const given = Object.entries(settings).flatMap(([name, value]) => ['--param', `${name}=${value}`]);
  execFileSync('osls', ['package', '--stage', 'prod', ...given], { cwd: service, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** `given`: settings beside those of serverless.yml. */
function checksOf(folder: string, given: Readonly<Record<string, string>>): Record<string, boolean> {
  const template = readTemplate(join(folder, TEMPLATE));
  const settings = settingsOf(folder, given);
  const { environmentKey } = settings;
  const managed = settings.network === 'vpc' ? [ENI] : [];
  const tableActions = Object.fromEntries(functionsOf(settings).map((name) => [name, TABLE_ACTIONS[name] ?? []]));
  const all = { ...checkStack(template, settings), ...checkRoles(template, { tableActions, managed, environmentKey }) };
  return Object.fromEntries(Object.entries(all).map(([name, holds]) => [`${name} (${folder})`, holds]));
}

function settingsOf(folder: string, given: Readonly<Record<string, string>>): StackSettings {
  const { service } = State.parse(JSON.parse(readFileSync(join(folder, STATE), 'utf8')));
  const { params } = service.initialServerlessConfig;
  return StackSettings.parse({ ...params['default'], ...params[service.provider.stage], ...given });
}

/** Of the functions that have instances kept ready. */
function versionsOf(folder: string): string[] {
  return Object.keys(resourcesOf(readTemplate(join(folder, TEMPLATE)), 'AWS::Lambda::Version'));
}

function filesOf(name: string): string[] {
  const listed = execFileSync(process.env['PYTHON'] ?? 'python3', ['-m', 'zipfile', '-l', `${FOLDER}/${name}.zip`], { encoding: 'utf8' });
  return listed.match(/^(?!File Name)\S+/gm) ?? [];
}

/** What cfn-lint has to say of the templates, but what is explained. */
async function lint(folders: readonly string[]): Promise<readonly string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-lint-'));
  const children = createChildren(dir);
  try {
    const signal = AbortSignal.timeout(INSTALL_MS);
    const modules = await findCfnLint({ cacheDir: CACHE_DIR, children, say: (line) => console.error(line), signal });
    const findings = await Promise.all(folders.map((folder) => lintTemplate(join(folder, TEMPLATE), modules)));
    return unexplained(findings.flat());
  } finally {
    await children.stopAll(0);
    rmSync(dir, { recursive: true, force: true });
  }
}
