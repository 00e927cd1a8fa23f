const { functionsOf } = require('./functions.cjs');

// A role for each function: what it does with the table, and its own log. Messages are elsewhere, by keys that come with its
// environment. test/integration/function-roles.test.ts holds the table below against what the functions do.
// Whoever meets a change of segments that somebody was stopped in carries it on.
const READING = ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'];
const TABLE_ACTIONS = /** @type {Record<string, string[]>} */ ({
  broker: ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
  read: READING,
  readBuffered: READING,
  leader: ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
  rebalance: ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
  sweep: ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
  archive: ['GetItem', 'Query', 'PutItem', 'UpdateItem'],
});
// In a network of one's own, the platform's policy for network interfaces comes with it: its statement is on all resources (`*`), which
// interfaces that nobody has made yet have to be. Nothing else here is (check-roles.ts).
// The log's group is the stack's own: nobody has to make it.
const LOG_ACTIONS = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const LAMBDA = {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: ['sts:AssumeRole'], Principal: { Service: ['lambda.amazonaws.com'] } }],
};

/** @param {import('./functions.cjs').Deps} deps */
async function roles(deps) {
  const { resolveVariable } = deps;
  const network = /** @type {string} */ (await resolveVariable('param:network'));
  const policies = await resolveVariable(`file(infra/stack/network.yml):${network}.policies, null`);
  if (policies === null) throw new Error(`the setting "network" is "public" or "vpc", but not "${network}"`);
  const key = await resolveVariable('param:environmentKey, null');
  // As the platform does with the key of its own, for each role that it has seen.
  const decrypts = key === null ? [] : [{ Effect: 'Allow', Action: ['kms:Decrypt'], Resource: key }];
  const names = Object.keys(await functionsOf(deps));
  return Object.fromEntries(names.map((name) => roleOf(titled(name), [...statementsOf(name), ...decrypts], policies)));
}

/** @param {string} name */
function statementsOf(name) {
  const actions = TABLE_ACTIONS[name];
  if (actions === undefined) throw new Error(`nothing says what the function "${name}" may do with the table`);
  return [
    { Effect: 'Allow', Action: actions.map((action) => `dynamodb:${action}`), Resource: { 'Fn::GetAtt': ['Table', 'Arn'] } },
    { Effect: 'Allow', Action: LOG_ACTIONS, Resource: { 'Fn::GetAtt': [`${titled(name)}LogGroup`, 'Arn'] } },
  ];
}

/** @type {(name: string, statements: object[], policies: unknown) => [string, object]} */
function roleOf(name, statements, policies) {
  const role = {
    Type: 'AWS::IAM::Role',
    Properties: {
      AssumeRolePolicyDocument: LAMBDA,
      ManagedPolicyArns: policies,
      Policies: [{ PolicyName: 'kelp', PolicyDocument: { Version: '2012-10-17', Statement: statements } }],
    },
  };
  return [`${name}Role`, role];
}

/** @param {string} name */
const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1);

module.exports = { TABLE_ACTIONS, roles };
