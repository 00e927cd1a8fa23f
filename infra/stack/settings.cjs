// What the settings of serverless.yml may be. Much of it would be found by CloudFormation only, halfway through a deployment, or by
// the functions, which fail then at each start.

/** @typedef {{ what: string, test: (text: string) => boolean }} Rule */
/** @typedef {string | number | null | undefined} Value */
/** @typedef {Record<string, Value>} Values By the names of the settings. */

/** @type {(what: string, pattern: RegExp) => Rule} */
const matching = (what, pattern) => ({ what, test: (text) => pattern.test(text) });
/** @type {(...texts: string[]) => Rule} */
const oneOf = (...texts) => ({ what: texts.map((text) => `"${text}"`).join(' or '), test: (text) => texts.includes(text) });
/** @type {(what: string, min: number, max: number) => Rule} */
const integer = (what, min, max) => ({
  what: `${what} from ${min} to ${max}`,
  test: (text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max,
});

const memory = integer('a number of MB', 128, 10_240);
// What an account has in all is its own; the largest are some hundred thousands.
const atMost = integer('a number of instances', 0, 999_999);
const ready = integer('a number of instances', 1, 999_999);
// Those that CloudWatch Logs takes and the packaging tool, too: it doesn't know of 1096.
const LOG_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 2192, 2557, 2922, 3288, 3653];

/** Those of infra/README.md, by their names there. Of URLs the functions have the same rules (src/cli/environment.ts). */
const SETTINGS = /** @type {Record<string, Rule>} */ ({
  entry: oneOf('http-api', 'function-urls'),
  publicUrl: { what: 'an origin such as https://kelp.example.com', test: (text) => pathOf(text) === '/' },
  s3PublicEndpoint: {
    what: 'a URL such as https://files.example.com/s3/, its path of [A-Za-z0-9._~-]',
    test: (text) => /^\/([\w.~-]+\/)*[\w.~-]*$/.test(pathOf(text)),
  },
  network: oneOf('public', 'vpc'),
  subnetIds: matching('ids of subnets such as subnet-11111111, commas between', /^subnet-[0-9a-f]+(,subnet-[0-9a-f]+)*$/),
  securityGroupIds: matching('ids of security groups such as sg-11111111, commas between', /^sg-[0-9a-f]+(,sg-[0-9a-f]+)*$/),
  secretsRevision: matching('1 to 64 of [A-Za-z0-9._-]', /^[\w.-]{1,64}$/),
  alarmTopic: matching(
    'the ARN of an SNS topic such as arn:aws:sns:us-east-1:000000000000:alarms',
    /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}(\.fifo)?$/,
  ),
  // An alias is nothing that a role can be allowed.
  environmentKey: matching(
    'the ARN of a KMS key such as arn:aws:kms:us-east-1:000000000000:key/1234abcd',
    /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/,
  ),
  logDays: { what: `one of ${LOG_DAYS.join(', ')}`, test: (text) => LOG_DAYS.map(String).includes(text) },
  brokerMemory: memory,
  readMemory: memory,
  leaderMemory: memory,
  archiveMemory: memory,
  // Those that the functions take (src/cli/lifetimes.ts).
  archiveAgeMs: integer('a number of milliseconds', 0, 604_800_000),
  archiveBytes: integer('a number of bytes', 65_536, 67_108_864),
  garbageAgeMs: integer('a number of milliseconds', 0, 604_800_000),
  brokerReserved: atMost,
  readReserved: atMost,
  readBufferedReserved: atMost,
  leaderReserved: atMost,
  rebalanceReserved: atMost,
  sweepReserved: atMost,
  archiveReserved: atMost,
  brokerProvisioned: ready,
  readProvisioned: ready,
  readBufferedProvisioned: ready,
  leaderProvisioned: ready,
});

/** A function's name ends at 64 characters, and the longest is kelp-<stage>-readBuffered. */
const STAGE = matching('1 to 46 of [A-Za-z0-9-], since names of functions begin with it', /^[A-Za-z0-9-]{1,46}$/);

/**
 * One line for each setting that is wrong.
 * @param {{ stage: string, values: Values }} given
 * @returns {string[]}
 */
function problemsOf({ stage, values }) {
  const set = Object.entries(values).flatMap(([name, value]) => (isKnown(value) ? [[name, String(value)]] : []));
  return [
    ...(STAGE.test(stage) ? [] : [`the stage must be ${STAGE.what}, but is "${stage}"`]),
    ...set.flatMap(([name, text]) => problemOf(name, text)),
    ...betweenOf(values),
  ];
}

/** @type {(name: string, text: string) => string[]} */
function problemOf(name, text) {
  if (!Object.hasOwn(SETTINGS, name)) return [`there is no setting "${name}": infra/README.md names them all`];
  const { what, test } = SETTINGS[name];
  return test(text) ? [] : [`the setting "${name}" must be ${what}, but is "${text}"`];
}

/**
 * What is wrong of two that are right by themselves.
 * @type {(values: Values) => string[]}
 */
function betweenOf(values) {
  const missing = values.network === 'vpc' ? ['subnetIds', 'securityGroupIds'].filter((name) => (values[name] ?? '') === '') : [];
  const more = ['broker', 'read', 'readBuffered', 'leader'].filter(
    (name) => Number(values[`${name}Provisioned`]) > Number(values[`${name}Reserved`] ?? Infinity),
  );
  return [
    ...missing.map((name) => `the setting "${name}" is missing: "network" is "vpc"`),
    ...more.map((name) => `the setting "${name}Provisioned" must be no more than "${name}Reserved"`),
  ];
}

/**
 * Not one that is to be looked up yet.
 * @type {(value: Value) => boolean}
 */
const isKnown = (value) => value !== null && value !== undefined && !String(value).includes('${');

/**
 * Of a URL of http(s) that has nothing but an origin and a path; of another text ''.
 * @type {(text: string) => string}
 */
function pathOf(text) {
  if (!URL.canParse(text)) return '';
  const { protocol, search, hash, username, password, pathname } = new URL(text);
  return /^https?:$/.test(protocol) && search + hash + username + password === '' ? pathname : '';
}

module.exports = { SETTINGS, problemsOf };
