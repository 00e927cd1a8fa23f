import { z } from 'zod';
import { checkHandlers } from './check-handlers.ts';
import { arnOf, haveSame, isSame, type Properties, referenceTo, resourcesOf, type Template } from './template.ts';

const Instances = z.coerce.number().optional();
/** Those of serverless.yml, by their names there. */
export const StackSettings = z.object({
  entry: z.enum(['http-api', 'function-urls']),
  publicUrl: z.string().optional(),
  s3PublicEndpoint: z.string().optional(),
  alarmTopic: z.string().optional(),
  environmentKey: z.string().optional(),
  network: z.enum(['public', 'vpc']),
  secretsRevision: z.coerce.string(),
  brokerReserved: Instances,
  readReserved: Instances,
  readBufferedReserved: Instances,
  leaderReserved: Instances,
  rebalanceReserved: Instances,
  sweepReserved: Instances,
  archiveReserved: Instances,
  brokerProvisioned: Instances,
  readProvisioned: Instances,
  readBufferedProvisioned: Instances,
  leaderProvisioned: Instances,
});
export type StackSettings = Readonly<z.infer<typeof StackSettings>>;

const SERVED = ['broker', 'read', 'readBuffered', 'leader'] as const;
const FUNCTIONS = [...SERVED, 'rebalance', 'sweep', 'archive'] as const;
type Name = (typeof FUNCTIONS)[number];

/** An answer of a handler that streams is none for API Gateway, which has a function of its own for reading. */
export const functionsOf = ({ entry }: StackSettings): readonly Name[] =>
  FUNCTIONS.filter((name) => name !== 'readBuffered' || entry === 'http-api');
const servedBy = (settings: StackSettings) => SERVED.filter((name) => functionsOf(settings).includes(name));

/** By the file that it is packaged with, and the name there. */
const HANDLERS: Readonly<Record<Name, readonly [bundle: string, handler: string]>> = {
  broker: ['broker', 'handler'],
  read: ['read', 'handler'],
  readBuffered: ['read', 'buffered'],
  leader: ['leader', 'handler'],
  rebalance: ['rebalance', 'handler'],
  sweep: ['sweep', 'handler'],
  archive: ['archive', 'handler'],
};
export const bundleOf = (name: Name): string => `dist/functions/${HANDLERS[name][0]}.mjs`;

const STORE = ['KELP_S3_ENDPOINT', 'KELP_S3_BUCKET', 'KELP_S3_REGION', 'KELP_S3_ACCESS_KEY', 'KELP_S3_SECRET_KEY'];
const READING = ['KELP_TABLE', ...STORE, 'KELP_S3_PUBLIC_ENDPOINT', 'KELP_ROOT_TOKEN', 'KELP_SECRET'];
const LEADING = [...READING, 'KELP_GARBAGE_AGE_MS', 'KELP_PUBLIC_URL', 'KELP_INTERNAL_SECRET'];
/** What each knows; a secret that it doesn't need can't be lost there. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  broker: LEADING,
  read: READING,
  readBuffered: READING,
  leader: LEADING,
  rebalance: ['KELP_TABLE', 'KELP_INTERNAL_SECRET'],
  sweep: ['KELP_TABLE', ...STORE, 'KELP_GARBAGE_AGE_MS'],
  archive: ['KELP_TABLE', ...STORE, 'KELP_ARCHIVE_AGE_MS', 'KELP_ARCHIVE_BYTES'],
};
/** What the rebalancer logs (src/control/scaling/apply-plan.ts). */
const NOT_SPLIT = 'segments could not be split and merged';
const SECRET = /_(?:TOKEN|SECRET|KEY)$/;

const Function = z.object({
  Handler: z.string(),
  Description: z.string(),
  Runtime: z.string(),
  Timeout: z.number(),
  ReservedConcurrentExecutions: z.number().optional(),
  VpcConfig: z.unknown().optional(),
  KmsKeyArn: z.string().optional(),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});
type Function = z.infer<typeof Function> & { readonly name: string };

/** What must hold of the stack, and whether it does. */
export function checkStack(template: Template, settings: StackSettings): Readonly<Record<string, boolean>> {
  const functions = Object.entries(resourcesOf(template, 'AWS::Lambda::Function')).map(([resource, properties]) => {
    return { ...Function.parse(properties), name: nameOf(resource) };
  });
  const named = (name: string): Function | undefined => functions.find((candidate) => candidate.name === name);
  return {
    ...checkTable(template),
    'the functions are those that are checked, each by its handler': haveSame(
      functions.map(({ name, Handler }) => [name, Handler]),
      functionsOf(settings).map((name) => [name, `dist/functions/${HANDLERS[name].join('.')}`]),
    ),
    'the functions run on Node 24': functions.every(({ Runtime }) => Runtime === 'nodejs24.x'),
    'each function has the variables that it reads, and no more': functions.every(({ name, Environment }) =>
      isSame(Object.keys(Environment.Variables).toSorted(), VARIABLES[name]?.toSorted()),
    ),
    'clients are told the address of the store in the settings': servedBy(settings).every(
      (name) => named(name)?.Environment.Variables['KELP_S3_PUBLIC_ENDPOINT'] === (settings.s3PublicEndpoint ?? ''),
    ),
    'secrets are references': functions.every(({ Environment }) =>
      Object.entries(Environment.Variables).every(
        ([name, value]) => !SECRET.test(name) || String(value).startsWith('{{resolve:secretsmanager:/kelp/'),
      ),
    ),
    'variables are encrypted by the key in the settings': functions.every(({ KmsKeyArn }) => KmsKeyArn === settings.environmentKey),
    'a log is kept for a while': Object.values(resourcesOf(template, 'AWS::Logs::LogGroup')).every(
      ({ RetentionInDays }) => typeof RetentionInDays === 'number',
    ),
    'all are in one network': functions.every(({ VpcConfig }) => (VpcConfig !== undefined) === (settings.network === 'vpc')),
    'requests are answered before API Gateway gives up': servedBy(settings).every((name) => named(name)?.Timeout === 29),
    'a function says which revision of the secrets it has': functions.every(({ Description }) =>
      Description.endsWith(` (secrets ${settings.secretsRevision})`),
    ),
    'at once there are as many instances of each as the settings say': functionsOf(settings).every(
      (name) => named(name)?.ReservedConcurrentExecutions === settings[`${name}Reserved`],
    ),
    ...checkReady(template, settings),
    ...checkSchedules(template, named),
    ...checkEntry(template, functions, settings),
    ...checkHandlers(template),
    ...checkAlarms(template, settings),
  };
}

function checkTable(template: Template): Readonly<Record<string, boolean>> {
  const { DeletionPolicy, Properties: table = {} } = template.Resources['Table'] ?? {};
  return {
    'the table stays when the stack goes': DeletionPolicy === 'Retain' && table['DeletionProtectionEnabled'] === true,
    'the table can be restored to a point in time': isSame(table['PointInTimeRecoverySpecification'], { PointInTimeRecoveryEnabled: true }),
    'the table is paid for by use, and forgets what has expired':
      table['BillingMode'] === 'PAY_PER_REQUEST' && isSame(table['TimeToLiveSpecification'], { AttributeName: 'ttl', Enabled: true }),
  };
}

/** Instances that are kept ready are those of an alias, to which whoever calls the function must come. */
function checkReady(template: Template, settings: StackSettings): Readonly<Record<string, boolean>> {
  const aliases = resourcesOf(template, 'AWS::Lambda::Alias');
  const urls = resourcesOf(template, 'AWS::Lambda::Url');
  const integrations = resourcesOf(template, 'AWS::ApiGatewayV2::Integration');
  const ready = servedBy(settings).map((name) => ({ name: titled(name), instances: settings[`${name}Provisioned`] }));
  return {
    'as many instances are kept ready as the settings say': haveSame(
      Object.entries(aliases).map(([name, { ProvisionedConcurrencyConfig }]) => [name, ProvisionedConcurrencyConfig]),
      ready.flatMap(({ name, instances }) =>
        instances === undefined ? [] : [[`${name}ProvConcLambdaAlias`, { ProvisionedConcurrentExecutions: instances }]],
      ),
    ),
    'a function URL, and the HTTP API, lead to the instances that are kept ready': ready.every(({ name, instances }) => {
      const called = [
        urls[`${name}LambdaFunctionUrl`]?.['TargetFunctionArn'],
        integrations[`HttpApiIntegration${name}`]?.['IntegrationUri'],
      ].filter((arn) => arn !== undefined);
      const target = targetOf(`${name}LambdaFunction`, instances !== undefined);
      return called.length > 0 && called.every((arn) => isSame(arn, target));
    }),
  };
}

const targetOf = (name: string, isReady: boolean): object => (isReady ? { 'Fn::Join': [':', [arnOf(name), 'provisioned']] } : arnOf(name));

function checkSchedules(template: Template, named: (name: string) => Function | undefined): Readonly<Record<string, boolean>> {
  const rules = resourcesOf(template, 'AWS::Events::Rule');
  const rate = (name: string) => rules[`${name}EventsRuleSchedule1`]?.['ScheduleExpression'];
  return {
    'the rebalancer runs every minute, and has ended before the next':
      rate('Rebalance') === 'rate(1 minute)' && named('rebalance')?.Timeout === 55,
    'the sweeper runs every hour': rate('Sweep') === 'rate(1 hour)',
    'the archiver runs every five minutes, and has ended before the next':
      rate('Archive') === 'rate(5 minutes)' && named('archive')?.Timeout === 290,
    'nothing else is scheduled, and what failed is left to the next one':
      Object.keys(rules).length === 3 &&
      Object.values(resourcesOf(template, 'AWS::Lambda::EventInvokeConfig')).filter((config) => config['MaximumRetryAttempts'] === 0)
        .length === 3,
  };
}

function checkEntry(template: Template, functions: readonly Function[], settings: StackSettings): Readonly<Record<string, boolean>> {
  const isApi = settings.entry === 'http-api';
  const own = { 'Fn::Sub': 'https://${HttpApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}' };
  const url = settings.publicUrl ?? (isApi ? own : '');
  const urls = Object.entries(resourcesOf(template, 'AWS::Lambda::Url'));
  return {
    'there is one HTTP API, if any': Object.keys(resourcesOf(template, 'AWS::ApiGatewayV2::Api')).length === (isApi ? 1 : 0),
    'each function URL is of a function that has one': haveSame(
      urls.map(([name]) => name),
      isApi ? ['ReadLambdaFunctionUrl'] : servedBy(settings).map((name) => `${titled(name)}LambdaFunctionUrl`),
    ),
    'brokers know where they are reached': functions
      .filter(({ name }) => VARIABLES[name]?.includes('KELP_PUBLIC_URL'))
      .every(({ Environment }) => isSame(Environment.Variables['KELP_PUBLIC_URL'], url)),
  };
}

function checkAlarms(template: Template, settings: StackSettings): Readonly<Record<string, boolean>> {
  const { alarmTopic } = settings;
  const alarms = Object.values(resourcesOf(template, 'AWS::CloudWatch::Alarm'));
  const on = (metric: string, dimension: Properties) =>
    alarms.some(({ MetricName, Dimensions }) => MetricName === metric && isSame(Dimensions, [dimension]));
  return {
    'somebody hears of each function that fails, is refused or is slow': functionsOf(settings).every((name) =>
      metricsOf(name).every((metric) => on(metric, { Name: 'FunctionName', Value: referenceTo(`${titled(name)}LambdaFunction`) })),
    ),
    'somebody hears of answers 5xx wherever answers leave':
      Object.keys(resourcesOf(template, 'AWS::Lambda::Url')).every((url) =>
        on('Url5xxCount', { Name: 'FunctionName', Value: referenceTo(url.replace(/Url$/, '')) }),
      ) &&
      Object.keys(resourcesOf(template, 'AWS::ApiGatewayV2::Api')).every((api) => on('5xx', { Name: 'ApiId', Value: referenceTo(api) })),
    'somebody hears of a table that refuses': ['ReadThrottleEvents', 'WriteThrottleEvents'].every((metric) =>
      on(metric, { Name: 'TableName', Value: referenceTo('Table') }),
    ),
    'somebody hears where nothing is split though it should be': isSame(
      Object.values(resourcesOf(template, 'AWS::Logs::MetricFilter')).map(({ FilterPattern }) => FilterPattern),
      [`"${NOT_SPLIT}"`],
    ),
    'that somebody is the one in the settings': alarms.every(({ AlarmActions }) =>
      isSame(AlarmActions, alarmTopic === undefined ? undefined : [alarmTopic]),
    ),
  };
}

/** A read may stream until its time is over. */
const metricsOf = (name: string): string[] => ['Errors', 'Throttles', ...(name === 'read' ? [] : ['Duration'])];

/** Of a resource's name in the template. */
const nameOf = (resource: string): string => `${resource.charAt(0).toLowerCase()}${resource.slice(1)}`.replace(/LambdaFunction$/, '');
const titled = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
