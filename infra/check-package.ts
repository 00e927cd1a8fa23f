import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createChildren } from './local/processes.ts';
import { CACHE_DIR, findCfnLint } from './local/tools.ts';
import { checkRoles } from './stack/check-roles.ts';
import { checkStack, FUNCTIONS, type StackSettings } from './stack/check-stack.ts';
import { lintTemplate, unexplained } from './stack/lint-template.ts';
import { TABLE_ACTIONS } from './stack/roles.ts';
import { isSame, readTemplate } from './stack/template.ts';

// What `osls package` has made, and what it makes of other settings, before anybody deploys it.
const FOLDER = '.serverless';
const OTHER_SERVICE = 'dist/other-settings';
const OTHER_FOLDER = join(OTHER_SERVICE, FOLDER);
const TEMPLATE = 'cloudformation-template-update-stack.json';
const INSTALL_MS = 600_000;
const ENI = 'arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaENIManagementAccess';

const OTHER = {
  entry: 'function-urls',
  publicUrl: 'https://kelp.example.com',
  network: 'vpc',
  subnetIds: 'subnet-11111111,subnet-22222222',
  securityGroupIds: 'sg-11111111',
  alarmTopic: 'arn:aws:sns:us-east-1:000000000000:alarms',
  brokerReserved: '50',
  brokerProvisioned: '2',
} as const;

packageOther();
const files = FUNCTIONS.flatMap(filesOf);
const checks: Readonly<Record<string, boolean>> = {
  ...checksOf(FOLDER, { entry: 'http-api', network: 'public' }),
  ...checksOf(OTHER_FOLDER, OTHER),
  'each function is packaged with its own bundle, and nothing else': isSame(
    files,
    FUNCTIONS.map((name) => `dist/functions/${name}.mjs`),
  ),
};
const failed = Object.entries(checks)
  .filter(([, holds]) => !holds)
  .map(([name]) => name);
const found = await lint([FOLDER, OTHER_FOLDER]);
for (const name of failed) console.error(`not so: ${name}`);
for (const line of found) console.error(line);
console.log(`${Object.keys(checks).length - failed.length} of ${Object.keys(checks).length} hold; packaged: ${files.join(' ')}`);
if (failed.length > 0 || found.length > 0) process.exitCode = 1;

/** In a folder of its own: each packaging removes what the one before has made. */
function packageOther(): void {
  rmSync(OTHER_SERVICE, { recursive: true, force: true });
  for (const path of ['serverless.yml', 'infra/table.yml', 'infra/stack', 'dist/functions']) {
    cpSync(path, join(OTHER_SERVICE, path), { recursive: true });
  }
  const given = Object.entries(OTHER).flatMap(([name, value]) => ['--param', `${name}=${value}`]);
  execFileSync('osls', ['package', '--stage', 'prod', ...given], { cwd: OTHER_SERVICE, stdio: ['ignore', 'ignore', 'inherit'] });
}

function checksOf(folder: string, given: StackSettings): Record<string, boolean> {
  const template = readTemplate(join(folder, TEMPLATE));
  const managed = given.network === 'vpc' ? [ENI] : [];
  const all = { ...checkStack(template, given), ...checkRoles(template, { tableActions: TABLE_ACTIONS, managed }) };
  return Object.fromEntries(Object.entries(all).map(([name, holds]) => [`${name} (${folder})`, holds]));
}

function filesOf(name: string): string[] {
  const listed = execFileSync('python3', ['-m', 'zipfile', '-l', `${FOLDER}/${name}.zip`], { encoding: 'utf8' });
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
