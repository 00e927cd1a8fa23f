import * as z from 'zod/mini';
import type { TableSettings } from '../adapters/dynamodb/table-settings.ts';
import type { StoreSettings } from '../adapters/s3/store-settings.ts';
import { KelpError } from '../model/errors.ts';

// How a runtime reads its environment, and what all of them read of it.

export type Variables = Readonly<Record<string, string | undefined>>;

export const SECRET_LENGTH_MIN = 16;
const REGION_DEFAULT = 'us-east-1';
/** For a table server of one's own that asks for no credentials: the SDK would look for some on the network otherwise. */
const ANY_CREDENTIALS = { accessKey: 'local', secretKey: 'local' } as const;

/** A variable whose text must hold `test`; the error says what it must be, and shows what it is unless that is a secret. */
export function variable(what: string, test: (text: string) => boolean): z.ZodMiniString {
  return z.string({ error: `is missing: it must be ${what}` }).check(z.refine(test, `must be ${what}`));
}

export const matching = (pattern: RegExp) => (text: string) => pattern.test(text);

export function isInteger(text: string, min: number, max: number): boolean {
  return /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max;
}

export const url = variable('a URL such as http://127.0.0.1:8333', isBaseUrl);
const publicEndpoint = variable('a URL such as https://files.example.org/s3/, its path of [A-Za-z0-9._~-]', isPublicEndpoint);
const region = variable('a region such as us-east-1', matching(/^[a-z0-9-]{1,64}$/));
const key = variable('a key without blanks', matching(/^\S{1,1024}$/));
export const secrets = variable(
  `a secret of at least ${SECRET_LENGTH_MIN} characters, or two with a comma between them`,
  matching(/^[^\s,]{16,1024}(,[^\s,]{16,1024})?$/),
);
const bucket = variable(
  'a bucket name of 3 to 63 characters [a-z0-9.-], no two dots in a row, and no IP address',
  matching(/^(?!.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
);
const table = variable('a table name of 3 to 255 characters [a-zA-Z0-9_.-]', matching(/^[a-zA-Z0-9_.-]{3,255}$/));

/** The table, by which brokers know each other, and the secret by which they speak. */
export const COMMON_VARIABLES = {
  KELP_INTERNAL_SECRET: z.optional(secrets),
  KELP_TABLE: z.prefault(table, 'kelp'),
  KELP_TABLE_ENDPOINT: z.optional(url),
  // The table's credentials have the names that every runtime of AWS uses.
  AWS_REGION: z.prefault(region, REGION_DEFAULT),
  AWS_ACCESS_KEY_ID: z.optional(key),
  AWS_SECRET_ACCESS_KEY: z.optional(key),
  AWS_SESSION_TOKEN: z.optional(key),
};
const Common = z.object(COMMON_VARIABLES);
type Common = z.infer<typeof Common>;

/** Where messages are. */
export const STORE_VARIABLES = {
  KELP_S3_ENDPOINT: url,
  KELP_S3_PUBLIC_ENDPOINT: z.optional(publicEndpoint),
  KELP_S3_BUCKET: z.prefault(bucket, 'kelp'),
  KELP_S3_REGION: z.prefault(region, REGION_DEFAULT),
  KELP_S3_ACCESS_KEY: key,
  KELP_S3_SECRET_KEY: key,
};
const Stores = z.object({ ...COMMON_VARIABLES, ...STORE_VARIABLES });
type Stores = z.infer<typeof Stores>;

export type CommonConfiguration = {
  /** Sign what brokers ask of each other, the first one; absent: this one neither asks nor answers. */
  readonly internalSecrets?: Secrets;
  readonly table: TableSettings;
};
export type Secrets = readonly [string, ...string[]];

export type StoresConfiguration = CommonConfiguration & { readonly store: StoreSettings };

function commonConfiguration(from: Common): CommonConfiguration {
  return {
    ...(from.KELP_INTERNAL_SECRET === undefined ? {} : { internalSecrets: secretsOf(from.KELP_INTERNAL_SECRET) }),
    table: {
      table: from.KELP_TABLE,
      region: from.AWS_REGION,
      ...(from.KELP_TABLE_ENDPOINT === undefined ? {} : { endpoint: from.KELP_TABLE_ENDPOINT }),
      ...tableCredentials(from),
    },
  };
}

export function storesConfiguration(from: Stores): StoresConfiguration {
  return {
    ...commonConfiguration(from),
    store: {
      endpoint: from.KELP_S3_ENDPOINT,
      ...(from.KELP_S3_PUBLIC_ENDPOINT === undefined ? {} : { publicEndpoint: from.KELP_S3_PUBLIC_ENDPOINT }),
      bucket: from.KELP_S3_BUCKET,
      region: from.KELP_S3_REGION,
      accessKey: from.KELP_S3_ACCESS_KEY,
      secretKey: from.KELP_S3_SECRET_KEY,
    },
  };
}

/** Of a runtime that needs nothing else. Errors as of {@link readVariables}. */
export const readStoresConfiguration = (environment: Variables): StoresConfiguration =>
  storesConfiguration(readVariables(Stores, environment));

/** The same without messages. */
export const readCommonConfiguration = (environment: Variables): CommonConfiguration =>
  commonConfiguration(readVariables(Common, environment));

/** Error `invalid`/`invalid-configuration`: its message has one line for each variable that is wrong. */
export function readVariables<T>(schema: z.ZodMiniType<T>, environment: Variables, defaults: Variables = {}): T {
  // Shells and compose files write an unset variable as an empty one.
  const given = { ...defaults, ...Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== '')) };
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => describeProblem(String(path[0]), message, given));
  throw new KelpError('invalid', 'invalid-configuration', [...new Set(lines)].join('\n'));
}

function describeProblem(name: string, message: string, given: Variables): string {
  const value = given[name];
  const isSecret = /SECRET|TOKEN|KEY/.test(name);
  return value === undefined || isSecret ? `${name} ${message}` : `${name} ${message}, but is "${withoutUser(value)}"`;
}

/** User and password of a URL, or of what was to be one, are secrets, too: all up to the last @, since a password may hold any sign. */
function withoutUser(text: string): string {
  const at = text.lastIndexOf('@');
  return at < 0 ? text : `${/^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0] ?? ''}***${text.slice(at)}`;
}

export function secretsOf(text: string): Secrets {
  const [current = '', ...previous] = text.split(',');
  return [current, ...previous];
}

type Credentials = Pick<TableSettings, 'accessKey' | 'secretKey' | 'sessionToken'>;

/** Error `invalid`/`invalid-configuration`: one key of the two, which would be taken for none. */
function tableCredentials({ AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey, ...from }: Common): Credentials {
  if ((accessKey === undefined) !== (secretKey === undefined)) {
    const missing = accessKey === undefined ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY';
    throw new KelpError('invalid', 'invalid-configuration', `${missing} is missing: the other one of the two means nothing without it`);
  }
  if (accessKey === undefined || secretKey === undefined) return from.KELP_TABLE_ENDPOINT === undefined ? {} : ANY_CREDENTIALS;
  const sessionToken = from.AWS_SESSION_TOKEN;
  return { accessKey, secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}

/** An origin alone: a path or a query there would end up in the middle of requests. */
function isBaseUrl(text: string): boolean {
  return isPlainUrl(text) && new URL(text).pathname === '/';
}

/** Of a path that is the same in every encoding: a signature is of what is sent, letter by letter. */
function isPublicEndpoint(text: string): boolean {
  return isPlainUrl(text) && /^(\/[\w.~-]+)*\/?$/.test(new URL(text).pathname);
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash, username, password } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && search === '' && hash === '' && username === '' && password === '';
}
