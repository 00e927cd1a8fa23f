import { randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import { ARCHIVE_EVERY_MS, ARCHIVE_EVERY_MS_MAX, ARCHIVE_EVERY_MS_MIN } from '../model/archive-limits.ts';
import { type BrokerId, isBrokerId } from '../model/ids.ts';
import { REQUEST_BYTES_MAX } from '../model/limits.ts';
import { REBALANCE_CALL_MS, REBALANCE_MS, SAMPLE_MS_MIN } from '../model/scaling-limits.ts';
import { SWEEP_EVERY_MS, SWEEP_EVERY_MS_MAX, SWEEP_EVERY_MS_MIN } from '../model/upload-limits.ts';
import {
  COMMON_VARIABLES,
  isInteger,
  matching,
  readVariables,
  type Secrets,
  secrets,
  secretsOf,
  SECRET_LENGTH_MIN,
  STORE_VARIABLES,
  type StoresConfiguration,
  storesConfiguration,
  url,
  variable,
  type Variables,
} from './environment.ts';
import { LIFETIME_VARIABLES, type Lifetimes, lifetimesOf } from './lifetimes.ts';

export type Configuration = StoresConfiguration &
  Lifetimes & {
    readonly host: string;
    /** 0: any free one. */
    readonly port: number;
    readonly rootToken: string;
    /** Sign cursors: the first one signs, all of them verify, so that one can be replaced without breaking readers. */
    readonly secrets: Secrets;
    readonly broker: {
      readonly id: BrokerId;
      readonly zone: string;
      /** Where clients and other brokers reach it: an origin. Absent: where it listens. */
      readonly publicUrl?: string;
    };
    readonly requestBytesMax: number;
    /** How often each topic is looked at by whoever leads; 0: only when somebody asks. */
    readonly rebalanceMs: number;
    /** How often, on average, it cleans up behind others; 0: only when somebody asks. */
    readonly sweepMs: number;
    /** How often it looks which messages are to be archived; 0: never. */
    readonly archiveMs: number;
  };

/** What differs between runtimes. */
export type RuntimeBounds = {
  /** Of a request, at most, and unless the environment says less. */
  readonly requestBytesMax: number;
  readonly defaults: Variables;
};

const PROCESS: RuntimeBounds = { requestBytesMax: REQUEST_BYTES_MAX, defaults: {} };
const REQUEST_BYTES_MIN = 65_536;
const RANDOM_ID_BYTES = 4;

const host = variable('a host name or an address', matching(/^[0-9a-zA-Z.:_-]{1,255}$/));
const port = variable('a port from 0 to 65535', (text) => isInteger(text, 0, 65_535));
const rootToken = variable(`a token of at least ${SECRET_LENGTH_MIN} characters [A-Za-z0-9._~+/=-]`, matching(/^[\w.~+/=-]{16,1024}$/));
const brokerId = variable('a name of 1 to 32 characters [a-z0-9-], the first no hyphen', isBrokerId);
const zone = variable('a name of 1 to 64 characters [A-Za-z0-9._-]', matching(/^[A-Za-z0-9._-]{1,64}$/));
const requestBytes = (max: number) =>
  variable(`a number of bytes from ${REQUEST_BYTES_MIN} to ${max}`, (text) => isInteger(text, REQUEST_BYTES_MIN, max));
const rebalanceMs = variable(`a number of milliseconds from ${SAMPLE_MS_MIN} to ${REBALANCE_CALL_MS}, or 0`, (text) => {
  return text === '0' || isInteger(text, SAMPLE_MS_MIN, REBALANCE_CALL_MS);
});
const sweepMs = variable(`a number of milliseconds from ${SWEEP_EVERY_MS_MIN} to ${SWEEP_EVERY_MS_MAX}, or 0`, (text) => {
  return text === '0' || isInteger(text, SWEEP_EVERY_MS_MIN, SWEEP_EVERY_MS_MAX);
});

const archiveMs = variable(`a number of milliseconds from ${ARCHIVE_EVERY_MS_MIN} to ${ARCHIVE_EVERY_MS_MAX}, or 0`, (text) => {
  return text === '0' || isInteger(text, ARCHIVE_EVERY_MS_MIN, ARCHIVE_EVERY_MS_MAX);
});

const environmentOf = ({ requestBytesMax }: RuntimeBounds) =>
  z.object({
    ...COMMON_VARIABLES,
    KELP_HOST: z.prefault(host, '127.0.0.1'),
    KELP_PORT: z.prefault(port, '7333'),
    KELP_ROOT_TOKEN: rootToken,
    KELP_SECRET: secrets,
    KELP_BROKER_ID: z.optional(brokerId),
    KELP_ZONE: z.optional(zone),
    KELP_PUBLIC_URL: z.optional(url),
    KELP_REQUEST_BYTES_MAX: z.prefault(requestBytes(requestBytesMax), String(requestBytesMax)),
    KELP_REBALANCE_MS: z.prefault(rebalanceMs, String(REBALANCE_MS)),
    KELP_SWEEP_MS: z.prefault(sweepMs, String(SWEEP_EVERY_MS)),
    KELP_ARCHIVE_MS: z.prefault(archiveMs, String(ARCHIVE_EVERY_MS)),
    ...LIFETIME_VARIABLES,
    ...STORE_VARIABLES,
  });
type Environment = z.infer<ReturnType<typeof environmentOf>>;

/** Reads and checks the environment. Errors as of {@link readVariables}. */
export function readConfiguration(environment: Variables, bounds: RuntimeBounds = PROCESS): Configuration {
  return toConfiguration(readVariables(environmentOf(bounds), environment, bounds.defaults));
}

function toConfiguration(from: Environment): Configuration {
  return {
    ...storesConfiguration(from),
    ...lifetimesOf(from),
    host: from.KELP_HOST,
    port: Number(from.KELP_PORT),
    rootToken: from.KELP_ROOT_TOKEN,
    secrets: secretsOf(from.KELP_SECRET),
    broker: brokerOf(from),
    requestBytesMax: Number(from.KELP_REQUEST_BYTES_MAX),
    rebalanceMs: Number(from.KELP_REBALANCE_MS),
    sweepMs: Number(from.KELP_SWEEP_MS),
    archiveMs: Number(from.KELP_ARCHIVE_MS),
  };
}

function brokerOf({ KELP_BROKER_ID: id, KELP_ZONE: zoneName = '', KELP_PUBLIC_URL: publicUrl }: Environment): Configuration['broker'] {
  return {
    // A name that nobody else has: two processes under one would take each other's place.
    id: (id ?? `broker-${randomBytes(RANDOM_ID_BYTES).toString('hex')}`) as BrokerId,
    zone: zoneName,
    ...(publicUrl === undefined ? {} : { publicUrl: new URL(publicUrl).origin }),
  };
}
