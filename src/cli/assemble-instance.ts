import { createHash } from 'node:crypto';
import type { PeersDeps } from '../adapters/peers/signed-peers.ts';
import { createPeerSignatures } from '../adapters/peers/signature.ts';
import { createPresigner } from '../adapters/s3/presigner.ts';
import { createAuthenticator } from '../adapters/system/authenticator.ts';
import { createBackground, type SystemBackground } from '../adapters/system/background.ts';
import { createCompression } from '../adapters/system/compression.ts';
import { rememberingStore } from '../adapters/wrap/remembering.ts';
import { wrapStore } from '../adapters/wrap/stores.ts';
import type { MemberAddress } from '../control/member.ts';
import { parseBatchObjectKey } from '../format/object-key.ts';
import type { AppDependencies, HttpLimits, Internal, Runtime } from '../http/dependencies.ts';
import { RECENT_OBJECTS_BYTES_MAX } from '../model/limits.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { PeerOperation, Peers } from '../ports/peers.ts';
import type { Presigner } from '../ports/presigner.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { assembleMember, type AssembledMember } from './assemble-member.ts';
import type { Configuration } from './configuration.ts';

/** What differs between a process and a function. */
export type InstanceParts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** The store's time; absent: the same. */
  readonly storeClock?: Pick<Clock, 'nowMs'>;
  readonly telemetry: Telemetry;
  readonly limits: HttpLimits;
  readonly runtime: Runtime;
  /** How other brokers are asked. */
  readonly peersOf: (deps: PeersDeps) => Peers;
  /** Where clients and other brokers reach this one; absent: nowhere, and it takes no part in the control plane. */
  readonly self?: MemberAddress;
  /** The longest that work behind a request may take, where that is less than it asks for. */
  readonly backgroundMsMax?: number;
};

export type Instance = {
  /** For the services. */
  readonly ports: AssembledMember & {
    readonly store: ObjectStore;
    readonly presigner: Presigner;
    readonly compression: Compression;
    readonly background: SystemBackground;
    readonly authenticator: Authenticator;
    readonly sha256: (text: string) => string;
    readonly garbageAgeMs: number;
    readonly self?: MemberAddress;
  };
  /** For the app. */
  readonly app: AppDependencies;
  /** Aborts when the broker is told to stop: it is not ready any more, and serves on until its segments are elsewhere. */
  readonly leaving: AbortController;
  /** Aborts when the broker begins to stop. */
  readonly stopping: AbortController;
};

/** What every instance has over the given adapters, whichever services and routes it is made of. */
export function assembleInstance(configuration: Configuration, parts: InstanceParts): Instance {
  const { clock, telemetry, limits, runtime, self, backgroundMsMax = Infinity } = parts;
  const member = assembleMember(configuration, parts);
  const compression = createCompression({ codec: 'zstd' });
  const leaving = new AbortController();
  const stopping = new AbortController();
  return {
    ports: {
      ...member,
      store: rememberingStore(wrapStore(parts.store, member), {
        bytesMax: RECENT_OBJECTS_BYTES_MAX,
        isRemembered: (key) => parseBatchObjectKey(key) !== undefined,
      }),
      presigner: createPresigner({ ...configuration.store, clock: parts.storeClock ?? clock }),
      compression,
      background: createBackground({
        clock: { ...clock, deadline: (ms) => clock.deadline(Math.min(ms, backgroundMsMax)) },
        telemetry,
      }),
      authenticator: createAuthenticator(configuration.secrets),
      sha256: (text) => createHash('sha256').update(text).digest('hex'),
      garbageAgeMs: configuration.garbageAgeMs,
      ...(self === undefined ? {} : { self }),
    },
    app: {
      clock,
      telemetry,
      compression,
      rootToken: configuration.rootToken,
      limits,
      runtime,
      leaving: leaving.signal,
      stopping: stopping.signal,
    },
    leaving,
    stopping,
  };
}

/** What other brokers may ask of this one; nothing where they can't reach it, or have no secret. */
export function internalOf(
  configuration: Configuration,
  { ports: { self, clock } }: Instance,
  operations: Readonly<Record<string, PeerOperation>>,
): Pick<AppDependencies, 'internal'> {
  const secret = configuration.internalSecrets;
  if (self === undefined || secret === undefined) return {};
  const internal: Internal = { self: self.id, operations, verify: createPeerSignatures(secret, clock).verify };
  return { internal };
}
