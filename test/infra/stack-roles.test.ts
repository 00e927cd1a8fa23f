import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { checkRoles } from '../../infra/stack/check-roles.ts';
import { TABLE_ACTIONS } from '../../infra/stack/roles.ts';
import { arnOf, type Template } from '../../infra/stack/template.ts';

type Roles = { roles(deps: { resolveVariable(name: string): Promise<unknown> }): Promise<Template['Resources']> };
const { roles } = createRequire(import.meta.url)('../../infra/stack/roles.cjs') as Roles;

const FUNCTIONS = ['broker', 'read', 'readBuffered', 'leader', 'rebalance', 'sweep', 'archive'];
const NAMES = FUNCTIONS.map((name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`);

/** As serverless.yml has them. `rest`: of any other variable. */
function resolving(known: Readonly<Record<string, unknown>>, rest: unknown) {
  const all = { 'self:functions': [Object.fromEntries(FUNCTIONS.slice(1).map((name) => [name, {}])), { broker: {} }], ...known };
  return (name: string): Promise<unknown> => Promise.resolve(name in all ? all[name as keyof typeof all] : rest);
}

/** The roles of serverless.yml, each with the function that takes it. */
async function stackOf(policies: readonly object[] = [], environmentKey: string | null = null): Promise<Template> {
  const resolveVariable = resolving({ 'param:network': 'public', 'param:environmentKey, null': environmentKey }, policies);
  const functions = NAMES.map((name) => [
    `${name}LambdaFunction`,
    { Type: 'AWS::Lambda::Function', Properties: { Role: arnOf(`${name}Role`) } },
  ]);
  return { Resources: { ...(Object.fromEntries(functions) as Template['Resources']), ...(await roles({ resolveVariable })) } };
}

function broken(template: Template, environmentKey?: string): string[] {
  const checks = checkRoles(template, { tableActions: TABLE_ACTIONS, managed: [], environmentKey });
  return Object.entries(checks).flatMap(([name, holds]) => (holds ? [] : [name]));
}

const OWN = 'each function has a role of its own, and there is no other';
const ENOUGH = 'a role allows what its function does with the one table, to write its own log, and to decrypt its variables';
const NARROW = 'nothing is allowed on everything, and not everything on anything';
const MANAGED = 'no policy of the platform but the network’s';

test('the roles of the stack are as they must be', async () => {
  expect(broken(await stackOf())).toEqual([]);
  expect(Object.keys(TABLE_ACTIONS)).toEqual(FUNCTIONS);
});

test.each([
  ['a resource of everything', '{"Fn::GetAtt":["Table","Arn"]}', '"*"', [ENOUGH, NARROW]],
  ['any action', '"dynamodb:GetItem"', '"dynamodb:*"', [ENOUGH, NARROW]],
  ['one action too many', '"dynamodb:Query"', '"dynamodb:Query","dynamodb:Scan"', [ENOUGH]],
  ['one action too few', '"dynamodb:Query",', '', [ENOUGH]],
  ['the log of another', '{"Fn::GetAtt":["ReadLogGroup","Arn"]}', '{"Fn::GetAtt":["SweepLogGroup","Arn"]}', [ENOUGH]],
  ['the role of another', '{"Fn::GetAtt":["ReadRole","Arn"]}', '{"Fn::GetAtt":["SweepRole","Arn"]}', [OWN]],
  ['a denial', '"Effect":"Allow","Action":["dynamodb', '"Effect":"Deny","Action":["dynamodb', [ENOUGH]],
])('%s is found', async (_, text, planted, found) => {
  const template = JSON.stringify(await stackOf());
  expect(template).toContain(text);
  expect(broken(JSON.parse(template.replace(text, planted)) as Template)).toEqual(found);
});

test('a policy of the platform that nothing asks for is found', async () => {
  expect(broken(await stackOf([{ 'Fn::Sub': 'arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess' }]))).toEqual([MANAGED]);
});

test('each role may decrypt by the key in the settings, and by no other', async () => {
  const [key, other] = ['arn:aws:kms:us-east-1:000000000000:key/one', 'arn:aws:kms:us-east-1:000000000000:key/other'];
  const template = await stackOf([], key);
  expect(broken(template, key)).toEqual([]);
  expect(broken(template)).toEqual([ENOUGH]);
  expect(broken(template, other)).toEqual([ENOUGH]);
  expect(broken(await stackOf(), key)).toEqual([ENOUGH]);
});

test('without a known network there are no roles', async () => {
  await expect(roles({ resolveVariable: () => Promise.resolve(null) })).rejects.toThrow('"public" or "vpc"');
});

test('a function of which nothing says what it may do has no role', async () => {
  const resolveVariable = resolving({ 'self:functions': [{ other: {} }] }, []);
  await expect(roles({ resolveVariable })).rejects.toThrow('the function "other"');
});
