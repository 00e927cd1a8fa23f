import type { OldMessages } from '../archive/old-messages.ts';
import type { Consumer } from '../consume/page.ts';
import type { Control } from '../control/control.ts';
import type { BrokerAddress } from '../model/broker.ts';
import type { BrokerId, SegmentId } from '../model/ids.ts';
import type { Sweep } from '../model/sweep-report.ts';
import type { Topic } from '../model/topic.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { PeerOperation } from '../ports/peers.ts';
import type { Presigner } from '../ports/presigner.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { References } from '../reference/references.ts';
import type { Uploads } from '../reference/uploads.ts';
import type { Topics } from '../topics/topics.ts';

/** What differs between endpoints; everything else is in model/limits.ts. */
export type HttpLimits = {
  /** Of a body, before and after decompression. */
  readonly requestBytesMax: number;
  /** Largest `maxBytes` of a read, and its default if that is larger. */
  readonly readBytesMax: number;
  readonly waitMsMax: number;
};

/** What the runtime around the app can do and allows. */
export type Runtime = {
  /** Whether an answer can be sent piece by piece. */
  readonly streams: boolean;
  /** Milliseconds that this request may still take; undefined: no limit of the runtime's own. `env` is Hono's. */
  remainingMs(env: unknown): number | undefined;
};

/** What other brokers may ask of this one. */
export type Internal = {
  /** This broker. */
  readonly self: BrokerId;
  readonly operations: Readonly<Record<string, PeerOperation>>;
  /** SHA-256 (hexadecimal) of the body that a broker of this Kelp has signed for exactly this, and lately; undefined: none has. */
  verify(request: {
    readonly method: string;
    readonly path: string;
    readonly broker: string;
    readonly signature: string | undefined;
  }): string | undefined;
};

/** What every app needs, whichever of the routes it has. */
export type AppDependencies = {
  /** What other brokers may ask; absent: nothing. */
  readonly internal?: Internal;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly compression: Compression;
  readonly rootToken: string;
  readonly limits: HttpLimits;
  readonly runtime: Runtime;
  /** Aborts when the process has been told to stop: readiness says so, and everything is served on until its segments are elsewhere. */
  readonly leaving: AbortSignal;
  /** Aborts when the process begins to stop: waiting readers are answered, streams end. */
  readonly stopping: AbortSignal;
};

/** Of the brokers, what an instance knows without asking. */
export type KnownBrokers = {
  /** Who serves a segment, as far as this instance knows without asking; none otherwise. */
  readonly brokersOf?: (topic: Topic, segment: SegmentId) => readonly BrokerAddress[];
  /** Where a broker is, as far as this instance knows without asking. */
  readonly addressOf?: (broker: BrokerId) => BrokerAddress | undefined;
};

export type TopicsDependencies = AppDependencies & { readonly topics: Topics };

export type ControlDependencies = TopicsDependencies & KnownBrokers & { readonly control: Control };

export type LeadingDependencies = ControlDependencies & { readonly sweep: Sweep };

/** What the last probe has found, and when; plain data, which those may share who can't wait for each other's work. */
export type Probed = { last?: { readonly atMs: number; readonly ready: boolean } };

/** What clients upload themselves, and where it is for those who read it. */
export type UploadsDependencies = { readonly uploads: Uploads; readonly references: References };

/** What handlers need that take messages, and those of everything that neither reads nor leads. */
export type PublishingDependencies = ControlDependencies &
  UploadsDependencies & {
    readonly publisher: Publisher;
    /** A real write and read of both stores; rejects with what is wrong. */
    probe(signal: AbortSignal): Promise<void>;
    /** Of an instance that lives for one request: what it shares with the others. */
    readonly probed?: Probed;
  };

/** Of one that lives long enough to be scraped. */
export type MetricsDependencies = {
  /** Prometheus text. */
  metrics(): Promise<string>;
};

export type ReadingDependencies = AppDependencies & {
  readonly topics: Pick<Topics, 'resolve'>;
  readonly consumer: Consumer;
  readonly references: References;
  readonly oldMessages: OldMessages;
  /** For reading batches and files from the store itself. */
  readonly presigner: Presigner;
};

export type HttpDependencies = PublishingDependencies & ReadingDependencies & LeadingDependencies & MetricsDependencies;
