import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

// What `osls package` has made, before anybody deploys it.
const FOLDER = '.serverless';
const ZIP = `${FOLDER}/kelp.zip`;
const ACTIONS = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query'].map((name) => `dynamodb:${name}`);

const Statement = z.object({ Action: z.array(z.string()), Resource: z.unknown() });
const Resource = z.object({
  Type: z.string(),
  DeletionPolicy: z.string().optional(),
  Properties: z.record(z.string(), z.unknown()).optional(),
});
const Template = z.object({ Resources: z.record(z.string(), Resource) });
const Role = z.object({ Policies: z.array(z.object({ PolicyDocument: z.object({ Statement: z.array(Statement) }) })) });

const { Resources } = Template.parse(JSON.parse(readFileSync(`${FOLDER}/cloudformation-template-update-stack.json`, 'utf8')));
const ofType = (type: string): z.infer<typeof Resource>[] => Object.values(Resources).filter((resource) => resource.Type === type);
const files = execFileSync('python3', ['-m', 'zipfile', '-l', ZIP], { encoding: 'utf8' }).match(/^dist\S+/gm) ?? [];

const [table] = ofType('AWS::DynamoDB::Table');
const [lambda] = ofType('AWS::Lambda::Function');
const statements = ofType('AWS::IAM::Role').flatMap(({ Properties }) =>
  Role.parse(Properties).Policies.flatMap((policy) => policy.PolicyDocument.Statement),
);
const onTable = statements.filter(({ Action }) => Action.some((action) => action.startsWith('dynamodb:')));
const checks: Readonly<Record<string, boolean>> = {
  'the table stays when the stack goes': table?.DeletionPolicy === 'Retain',
  'the table can be restored to a point in time': /"PointInTimeRecoveryEnabled":true/.test(JSON.stringify(table)),
  'the function runs on Node 24': lambda?.Properties?.['Runtime'] === 'nodejs24.x',
  'there is an HTTP API': ofType('AWS::ApiGatewayV2::Api').length === 1,
  'there is a function URL': ofType('AWS::Lambda::Url').length === 1,
  'the role may do five things with one table':
    onTable.length === 1 &&
    JSON.stringify(onTable[0]) ===
      JSON.stringify({
        Action: ACTIONS,
        Resource: { 'Fn::GetAtt': ['Table', 'Arn'] },
      }),
  'nothing is allowed on everything': statements.every(({ Resource: resource }) => resource !== '*'),
  'only bundles are packaged': files.length > 0 && files.every((file) => /^dist\/functions\/[a-z-]+\.mjs$/.test(file)),
};
const failed = Object.entries(checks)
  .filter(([, holds]) => !holds)
  .map(([name]) => name);
for (const name of failed) console.error(`not so: ${name}`);
console.log(`${Object.keys(checks).length - failed.length} of ${Object.keys(checks).length} hold; packaged: ${files.join(' ')}`);
if (failed.length > 0) process.exitCode = 1;
