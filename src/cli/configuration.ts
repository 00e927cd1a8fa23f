import { randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import type { TableSettings } from '../adapters/dynamodb/table-settings.ts';
import type { StoreSettings } from '../adapters/s3/store-settings.ts';
import { KelpError } from '../model/errors.ts';
import { type BrokerId, isBrokerId } from '../model/ids.ts';
import { REQUEST_BYTES_MAX } from '../model/limits.ts';

export type Configuration = {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly rootToken: string;
  /** Sign cursors: the first one signs, all of them verify, so that one can be replaced without breaking readers. */
  readonly secrets: readonly [string, ...string[]];
  /** Sign what brokers ask of each other, as `secrets` do; absent: this one neither asks nor answers. */
  readonly internalSecrets?: readonly [string, ...string[]];
  readonly broker: {
    readonly id: BrokerId;
    readonly zone: string;
    /** Where clients and other brokers reach it: an origin. Absent: where it listens. */
    readonly publicUrl?: string;
  };
  readonly requestBytesMax: number;
  readonly store: StoreSettings;
  readonly table: TableSettings;
};

const SECRET_LENGTH_MIN = 16;
const REQUEST_BYTES_MIN = 65_536;
const RANDOM_ID_BYTES = 4;
const REGION_DEFAULT = 'us-east-1';
/** For a table server of one's own that asks for no credentials: the SDK would look for some on the network otherwise. */
const ANY_CREDENTIALS = { accessKey: 'local', secretKey: 'local' } as const;

/** A variable whose text must hold `test`; the error says what it must be, and shows what it is unless that is a secret. */
function variable(what: string, test: (text: string) => boolean): z.ZodMiniString {
  return z.string({ error: `is missing: it must be ${what}` }).check(z.refine(test, `must be ${what}`));
}

const matching = (pattern: RegExp) => (text: string) => pattern.test(text);
const secretText = `a secret of at least ${SECRET_LENGTH_MIN} characters`;

const host = variable('a host name or an address', matching(/^[0-9a-zA-Z.:_-]{1,255}$/));
const port = variable('a port from 0 to 65535', (text) => isInteger(text, 0, 65_535));
const url = variable('a URL such as http://127.0.0.1:8333', isBaseUrl);
const bucket = variable('a bucket name of 3 to 63 characters [a-z0-9.-]', matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/));
const region = variable('a region such as us-east-1', matching(/^[a-z0-9-]{1,64}$/));
const table = variable('a table name of 3 to 255 characters [a-zA-Z0-9_.-]', matching(/^[a-zA-Z0-9_.-]{3,255}$/));
const key = variable('a key without blanks', matching(/^\S{1,1024}$/));
const rootToken = variable(`a token of at least ${SECRET_LENGTH_MIN} characters [A-Za-z0-9._~+/=-]`, matching(/^[\w.~+/=-]{16,1024}$/));
const secrets = variable(`${secretText}, or two with a comma between them`, matching(/^[^\s,]{16,1024}(,[^\s,]{16,1024})?$/));
const brokerId = variable('a name of 1 to 32 characters [a-z0-9-], the first no hyphen', isBrokerId);
const zone = variable('a name of 1 to 64 characters [A-Za-z0-9._-]', matching(/^[A-Za-z0-9._-]{1,64}$/));
const requestBytesMax = variable(`a number of bytes from ${REQUEST_BYTES_MIN} to ${REQUEST_BYTES_MAX}`, (text) =>
  isInteger(text, REQUEST_BYTES_MIN, REQUEST_BYTES_MAX),
);

const Environment = z.object({
  KELP_HOST: z.prefault(host, '127.0.0.1'),
  KELP_PORT: z.prefault(port, '7333'),
  KELP_ROOT_TOKEN: rootToken,
  KELP_SECRET: secrets,
  KELP_INTERNAL_SECRET: z.optional(secrets),
  KELP_BROKER_ID: z.optional(brokerId),
  KELP_ZONE: z.optional(zone),
  KELP_PUBLIC_URL: z.optional(url),
  KELP_REQUEST_BYTES_MAX: z.prefault(requestBytesMax, String(REQUEST_BYTES_MAX)),
  KELP_S3_ENDPOINT: url,
  KELP_S3_BUCKET: z.prefault(bucket, 'kelp'),
  KELP_S3_REGION: z.prefault(region, REGION_DEFAULT),
  KELP_S3_ACCESS_KEY: key,
  KELP_S3_SECRET_KEY: key,
  KELP_TABLE: z.prefault(table, 'kelp'),
  KELP_TABLE_ENDPOINT: z.optional(url),
  // The table's credentials have the names that every runtime of AWS uses.
  AWS_REGION: z.prefault(region, REGION_DEFAULT),
  AWS_ACCESS_KEY_ID: z.optional(key),
  AWS_SECRET_ACCESS_KEY: z.optional(key),
  AWS_SESSION_TOKEN: z.optional(key),
});
type Environment = z.infer<typeof Environment>;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks the environment. The error's message has one line for each variable that is wrong. `defaults`: of this
 * runtime, where they differ from a process'.
 */
export function readConfiguration(environment: Variables, defaults: Variables = {}): Configuration {
  // Shells and compose files write an unset variable as an empty one.
  const given = { ...defaults, ...Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== '')) };
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map(({ path, message }) => describeProblem(String(path[0]), message, given));
    throw new KelpError('invalid', 'invalid-configuration', [...new Set(lines)].join('\n'));
  }
  return toConfiguration(parsed.data);
}

function describeProblem(name: string, message: string, given: Variables): string {
  const value = given[name];
  const isSecret = /SECRET|TOKEN|KEY/.test(name);
  return value === undefined || isSecret ? `${name} ${message}` : `${name} ${message}, but is "${value}"`;
}

function toConfiguration(from: Environment): Configuration {
  return {
    host: from.KELP_HOST,
    port: Number(from.KELP_PORT),
    rootToken: from.KELP_ROOT_TOKEN,
    secrets: secretsOf(from.KELP_SECRET),
    ...(from.KELP_INTERNAL_SECRET === undefined ? {} : { internalSecrets: secretsOf(from.KELP_INTERNAL_SECRET) }),
    broker: brokerOf(from),
    requestBytesMax: Number(from.KELP_REQUEST_BYTES_MAX),
    store: {
      endpoint: from.KELP_S3_ENDPOINT,
      bucket: from.KELP_S3_BUCKET,
      region: from.KELP_S3_REGION,
      accessKey: from.KELP_S3_ACCESS_KEY,
      secretKey: from.KELP_S3_SECRET_KEY,
    },
    table: {
      table: from.KELP_TABLE,
      region: from.AWS_REGION,
      ...(from.KELP_TABLE_ENDPOINT === undefined ? {} : { endpoint: from.KELP_TABLE_ENDPOINT }),
      ...tableCredentials(from),
    },
  };
}

function secretsOf(text: string): [string, ...string[]] {
  const [current = '', ...previous] = text.split(',');
  return [current, ...previous];
}

function brokerOf({ KELP_BROKER_ID: id, KELP_ZONE: zoneName = '', KELP_PUBLIC_URL: publicUrl }: Environment): Configuration['broker'] {
  return {
    // A name that nobody else has: two processes under one would take each other's place.
    id: (id ?? `broker-${randomBytes(RANDOM_ID_BYTES).toString('hex')}`) as BrokerId,
    zone: zoneName,
    ...(publicUrl === undefined ? {} : { publicUrl: new URL(publicUrl).origin }),
  };
}

type Credentials = Pick<TableSettings, 'accessKey' | 'secretKey' | 'sessionToken'>;

function tableCredentials({ AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey, ...from }: Environment): Credentials {
  if (accessKey === undefined || secretKey === undefined) return from.KELP_TABLE_ENDPOINT === undefined ? {} : ANY_CREDENTIALS;
  const sessionToken = from.AWS_SESSION_TOKEN;
  return { accessKey, secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}

function isInteger(text: string, min: number, max: number): boolean {
  return /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max;
}

/** An origin alone: a path or a query there would end up in the middle of requests. */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, hash, username } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && pathname === '/' && search === '' && hash === '' && username === '';
}
