import type { Hono } from 'hono';
import { createHttpPeers } from '../adapters/peers/http-peers.ts';
import { createLogTelemetry } from '../adapters/system/log-telemetry.ts';
import { watchedStore, watchedTable } from '../adapters/wrap/watched.ts';
import type { MemberAddress } from '../control/member.ts';
import {
  createFunctionHandler,
  createInvocations,
  type FunctionHandler,
  functionRuntime,
  type Invocations,
} from '../http/function-handler.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import { assembleInstance, type Instance } from './assemble-instance.ts';
import type { Configuration } from './configuration.ts';
import { functionBounds } from './function-configuration.ts';
import type { OnTerminate } from './on-terminate.ts';

export type FunctionParts = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** Takes one log line. */
  readonly write: (line: string) => void;
};

/** Of one that leads for the time of a call. */
export type LeadingParts = FunctionParts & { readonly onTerminate: OnTerminate };

/** An instance within the bounds of the functions' platform. */
export function assembleFunctionInstance(configuration: Configuration, { write, ...parts }: FunctionParts): Instance {
  const instance = assembleInstance(configuration, {
    ...parts,
    ...selfOf(configuration),
    peersOf: createHttpPeers,
    telemetry: createLogTelemetry({ clock: parts.clock, write }),
    ...functionBounds(configuration),
    runtime: functionRuntime,
  });
  const { table, store, background } = instance.ports;
  // Whatever a request has begun is over when its answer is given.
  const watched = { table: watchedTable(table, background.watch), store: watchedStore(store, background.watch) };
  return { ...instance, ports: { ...instance.ports, ...watched } };
}

export const functionHandler = (app: Hono, instance: Instance): FunctionHandler => createFunctionHandler(app, invocationsOf(instance));

export const invocationsOf = ({ ports: { clock, background } }: Instance): Invocations =>
  createInvocations({ clock, settled: background.settled });

function selfOf({ broker: { id, zone, publicUrl } }: Configuration): { readonly self?: MemberAddress } {
  return publicUrl === undefined ? {} : { self: { id, url: publicUrl, kind: 'fleet', zone } };
}
