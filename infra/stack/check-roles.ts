import { z } from 'zod';
import { arnOf, haveSame, isSame, resourcesOf, type Template } from './template.ts';

export type RoleExpectations = {
  /** Of each function, what it may do with the table. */
  readonly tableActions: Readonly<Record<string, readonly string[]>>;
  /** Policies of the platform's own. */
  readonly managed: readonly string[];
  /** By which the functions' variables are encrypted, if it is not the platform's own. */
  readonly environmentKey?: string | undefined;
};

const Statement = z.object({ Effect: z.string(), Action: z.array(z.string()), Resource: z.unknown() });
const Role = z.object({
  ManagedPolicyArns: z.array(z.object({ 'Fn::Sub': z.string() })),
  Policies: z.array(z.object({ PolicyDocument: z.object({ Statement: z.array(Statement) }) })),
});

/** What must hold of who may do what, and whether it does. */
export function checkRoles(template: Template, expected: RoleExpectations): Readonly<Record<string, boolean>> {
  const { tableActions, managed, environmentKey } = expected;
  const roles = Object.entries(resourcesOf(template, 'AWS::IAM::Role')).map(([name, role]) => ({ name, ...Role.parse(role) }));
  const statements = roles.flatMap(({ Policies }) => Policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement));
  const functions = Object.entries(resourcesOf(template, 'AWS::Lambda::Function'));
  return {
    'each function has a role of its own, and there is no other': haveSame(
      functions.map(([name, { Role: role }]) => [name.replace(/LambdaFunction$/, 'Role'), role]),
      roles.map(({ name }) => [name, arnOf(name)]),
    ),
    'a role allows what its function does with the one table, to write its own log, and to decrypt its variables': Object.entries(
      tableActions,
    ).every(([name, actions]) => {
      const titled = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      const role = roles.find((candidate) => candidate.name === `${titled}Role`);
      return isSame(
        role?.Policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement),
        [
          { Effect: 'Allow', Action: actions.map((action) => `dynamodb:${action}`), Resource: arnOf('Table') },
          { Effect: 'Allow', Action: ['logs:CreateLogStream', 'logs:PutLogEvents'], Resource: arnOf(`${titled}LogGroup`) },
          ...(environmentKey === undefined ? [] : [{ Effect: 'Allow', Action: ['kms:Decrypt'], Resource: environmentKey }]),
        ],
      );
    }),
    'nothing is allowed on everything, and not everything on anything':
      statements.length > 0 && statements.every((statement) => !JSON.stringify(statement).includes('*')),
    'no policy of the platform but the network’s': roles.every(({ ManagedPolicyArns }) =>
      isSame(
        ManagedPolicyArns.map((arn) => arn['Fn::Sub']),
        managed,
      ),
    ),
  };
}
