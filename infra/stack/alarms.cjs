const { functionsOf } = require('./functions.cjs');

// What somebody should look at, made for each function by its name and time-out. Without the setting `alarmTopic`, alarms are
// only seen in the console.
const MINUTE_S = 60;
const HOUR_S = 3600;
/** Of the time-out: beyond it, requests begin to be cut off. */
const DURATION_PERCENT = 80;
const LASTING = { Period: MINUTE_S, EvaluationPeriods: 5, DatapointsToAlarm: 3 };
/** A key that is throttled is relieved by a split a minute or two later. */
const NOT_SPLIT = { Period: MINUTE_S, EvaluationPeriods: 15, DatapointsToAlarm: 10 };
const SILENT = { Period: MINUTE_S, EvaluationPeriods: 5, DatapointsToAlarm: 5 };
/** Of what runs every five minutes. */
const AGAIN = { Period: 5 * MINUTE_S, EvaluationPeriods: 3, DatapointsToAlarm: 2 };
const ONCE_AN_HOUR = { Period: HOUR_S, EvaluationPeriods: 1, DatapointsToAlarm: 1 };
const ANY = { Statistic: 'Sum', Threshold: 1, ComparisonOperator: 'GreaterThanOrEqualToThreshold', TreatMissingData: 'notBreaching' };
const NONE = { Statistic: 'Sum', Threshold: 1, ComparisonOperator: 'LessThanThreshold', TreatMissingData: 'breaching' };
// A refusal of a function's own is no error of it, so it is counted where answers leave.
const UNAVAILABLE = 'Requests are answered 5xx: a store is not reached, or the configuration is wrong';
/** The functions that have an address of their own, by the setting `entry`. */
const URLS = /** @type {Record<string, string[]>} */ ({ 'http-api': ['read'], 'function-urls': ['broker', 'read', 'leader'] });
/** What the rebalancer's log says where something keeps it from its work, such as a broker that nobody reaches; it doesn't fail then. */
const HINDERED = 'segments could not be split and merged';
const HINDERED_METRIC = { Namespace: 'Kelp', MetricName: { 'Fn::Sub': '${AWS::StackName}-hindered' } };
/** Its streams go on until its time is over. */
const LONG = 'read';

/** How long it lasts until somebody is told, of those that run seldom. */
const LASTINGS = /** @type {Record<string, object>} */ ({ sweep: ONCE_AN_HOUR, archive: AGAIN });

/** @typedef {Record<string, object>} Alarms The properties of each, by its name. */

/** @param {import('./functions.cjs').Deps} deps */
module.exports = async (deps) => {
  const { resolveVariable } = deps;
  const functions = await functionsOf(deps);
  const entry = /** @type {string} */ (await resolveVariable('param:entry'));
  const topic = await resolveVariable('param:alarmTopic, null');
  const told = topic === null ? {} : { AlarmActions: [topic], OKActions: [topic] };
  /** @type {Alarms} */
  const all = {
    ...Object.assign({}, ...Object.entries(functions).map(([name, { timeout }]) => ofFunction(name, timeout))),
    ...(entry === 'http-api' ? ofHttpApi() : {}),
    ...Object.assign({}, ...(URLS[entry] ?? []).map(ofFunctionUrl)),
    ...ofTable(),
    ...ofSchedule(),
  };
  const resources = Object.entries(all).map(([name, properties]) => [
    `${name}Alarm`,
    { Type: 'AWS::CloudWatch::Alarm', Properties: { ...properties, ...told } },
  ]);
  return /** @type {unknown} */ ({ HinderedMetric: hinderedMetric(), ...Object.fromEntries(resources) });
};

/** @param {string} name */
const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/** @type {(name: string, metric: string) => object} */
const lambda = (name, metric) => ({
  Namespace: 'AWS/Lambda',
  MetricName: metric,
  Dimensions: [{ Name: 'FunctionName', Value: { Ref: `${titled(name)}LambdaFunction` } }],
});

/** @type {(name: string, timeoutS: number) => Alarms} */
function ofFunction(name, timeoutS) {
  const lasting = LASTINGS[name] ?? LASTING;
  const refused = `${name} is refused instances: by its reserved concurrency, or the account's`;
  return {
    [`${titled(name)}Errors`]: { ...lambda(name, 'Errors'), ...ANY, ...lasting, AlarmDescription: `${name} fails: its log says why` },
    [`${titled(name)}Throttles`]: { ...lambda(name, 'Throttles'), ...ANY, ...lasting, AlarmDescription: refused },
    ...(name === LONG ? {} : { [`${titled(name)}Duration`]: { ...ofDuration(name, timeoutS), ...lasting } }),
  };
}

/** @type {(name: string, timeoutS: number) => object} */
function ofDuration(name, timeoutS) {
  const ms = (timeoutS * 1000 * DURATION_PERCENT) / 100;
  return {
    ...lambda(name, 'Duration'),
    ExtendedStatistic: 'p99',
    Threshold: ms,
    ComparisonOperator: 'GreaterThanThreshold',
    TreatMissingData: 'notBreaching',
    AlarmDescription: `${name} takes ${ms / 1000} s of its ${timeoutS}: stores are slow, or there is too much to do`,
  };
}

/** @type {() => Alarms} */
function ofHttpApi() {
  const metric = { Namespace: 'AWS/ApiGateway', MetricName: '5xx', Dimensions: [{ Name: 'ApiId', Value: { Ref: 'HttpApi' } }] };
  return { HttpApiErrors: { ...metric, ...ANY, ...LASTING, AlarmDescription: UNAVAILABLE } };
}

/** @type {(name: string) => Alarms} */
function ofFunctionUrl(name) {
  return { [`${titled(name)}UrlErrors`]: { ...lambda(name, 'Url5xxCount'), ...ANY, ...LASTING, AlarmDescription: UNAVAILABLE } };
}

/** @type {() => Alarms} */
function ofTable() {
  return { TableReadThrottles: ofTableMetric('ReadThrottleEvents'), TableWriteThrottles: ofTableMetric('WriteThrottleEvents') };
}

/** @param {string} metric */
function ofTableMetric(metric) {
  const dimensions = [{ Name: 'TableName', Value: { Ref: 'Table' } }];
  const refuses = 'The table goes on refusing requests: a hot key that no split relieves, or a limit of the table';
  return { Namespace: 'AWS/DynamoDB', MetricName: metric, Dimensions: dimensions, ...ANY, ...NOT_SPLIT, AlarmDescription: refuses };
}

/** @type {() => Alarms} */
function ofSchedule() {
  const missing = 'Nothing has had segments split for five minutes';
  const hindered = 'Segments that should be split or merged stay as they are: the log of rebalance says why';
  return {
    RebalanceMissing: { ...lambda('rebalance', 'Invocations'), ...NONE, ...SILENT, AlarmDescription: missing },
    RebalanceHindered: { ...HINDERED_METRIC, ...ANY, ...NOT_SPLIT, AlarmDescription: hindered },
  };
}

function hinderedMetric() {
  const { Namespace: MetricNamespace, MetricName } = HINDERED_METRIC;
  return {
    Type: 'AWS::Logs::MetricFilter',
    Properties: {
      LogGroupName: { Ref: 'RebalanceLogGroup' },
      FilterPattern: `"${HINDERED}"`,
      MetricTransformations: [{ MetricNamespace, MetricName, MetricValue: '1' }],
    },
  };
}
