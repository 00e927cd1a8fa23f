import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

// What `osls package` has made, before anybody deploys it.
const FOLDER = '.serverless';
const FUNCTIONS = ['broker', 'rebalance'];
const ACTIONS = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query'].map((name) => `dynamodb:${name}`);

const Statement = z.object({ Action: z.array(z.string()), Resource: z.unknown() });
const Resource = z.object({
  Type: z.string(),
  DeletionPolicy: z.string().optional(),
  Properties: z.record(z.string(), z.unknown()).optional(),
});
const Template = z.object({ Resources: z.record(z.string(), Resource) });
const Lambda = z.object({
  Handler: z.string(),
  Runtime: z.string(),
  Timeout: z.number(),
  ReservedConcurrentExecutions: z.number().optional(),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});
const Role = z.object({ Policies: z.array(z.object({ PolicyDocument: z.object({ Statement: z.array(Statement) }) })) });

const { Resources } = Template.parse(JSON.parse(readFileSync(`${FOLDER}/cloudformation-template-update-stack.json`, 'utf8')));
const ofType = (type: string): z.infer<typeof Resource>[] => Object.values(Resources).filter((resource) => resource.Type === type);
const filesOf = (name: string): string[] =>
  execFileSync('python3', ['-m', 'zipfile', '-l', `${FOLDER}/${name}.zip`], { encoding: 'utf8' }).match(/^(?!File Name)\S+/gm) ?? [];
const files = FUNCTIONS.flatMap(filesOf);

const [table] = ofType('AWS::DynamoDB::Table');
const lambdas = ofType('AWS::Lambda::Function').map(({ Properties }) => Lambda.parse(Properties));
const rebalance = lambdas.find(({ Handler }) => Handler === 'dist/functions/rebalance.handler');
const [rule] = ofType('AWS::Events::Rule');
const [invoked] = ofType('AWS::Lambda::EventInvokeConfig');
const statements = ofType('AWS::IAM::Role').flatMap(({ Properties }) =>
  Role.parse(Properties).Policies.flatMap((policy) => policy.PolicyDocument.Statement),
);
const onTable = statements.filter(({ Action }) => Action.some((action) => action.startsWith('dynamodb:')));
const checks: Readonly<Record<string, boolean>> = {
  'the table stays when the stack goes': table?.DeletionPolicy === 'Retain',
  'the table can be restored to a point in time': /"PointInTimeRecoveryEnabled":true/.test(JSON.stringify(table)),
  'the functions are those that are checked': isSame(
    lambdas.map(({ Handler }) => Handler).toSorted(),
    FUNCTIONS.map((name) => `dist/functions/${name}.handler`),
  ),
  'the functions run on Node 24': lambdas.every(({ Runtime }) => Runtime === 'nodejs24.x'),
  'the rebalancer runs every minute, once at a time, and has ended before the next':
    ofType('AWS::Events::Rule').length === 1 &&
    rule?.Properties?.['ScheduleExpression'] === 'rate(1 minute)' &&
    rebalance?.ReservedConcurrentExecutions === 1 &&
    rebalance.Timeout === 55,
  'a rebalancing that failed is left to the next one': invoked?.Properties?.['MaximumRetryAttempts'] === 0,
  'the rebalancer knows the table, and no secret': isSame(rebalance?.Environment.Variables, { KELP_TABLE: { Ref: 'Table' } }),
  'there is an HTTP API': ofType('AWS::ApiGatewayV2::Api').length === 1,
  'there is a function URL': ofType('AWS::Lambda::Url').length === 1,
  'the role may do five things with one table':
    onTable.length === 1 && isSame(onTable[0], { Action: ACTIONS, Resource: { 'Fn::GetAtt': ['Table', 'Arn'] } }),
  'nothing is allowed on everything': statements.every(({ Resource: resource }) => resource !== '*'),
  'each function is packaged with its own bundle, and nothing else': isSame(
    files,
    FUNCTIONS.map((name) => `dist/functions/${name}.mjs`),
  ),
};
const failed = Object.entries(checks)
  .filter(([, holds]) => !holds)
  .map(([name]) => name);
for (const name of failed) console.error(`not so: ${name}`);
console.log(`${Object.keys(checks).length - failed.length} of ${Object.keys(checks).length} hold; packaged: ${files.join(' ')}`);
if (failed.length > 0) process.exitCode = 1;

function isSame(value: unknown, expected: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(expected);
}
