import type { Asked } from './metered-stores.ts';

/** Dollars in us-east-1, as read in November 2026; infra/functions.md has where. */
const MILLION = 1_000_000;
const PRICES = {
  /** A million requests to an HTTP API, each 512 KiB of one. */
  gateway: { request: 1 / MILLION, bytes: 524_288 },
  /** On Arm. */
  lambda: { request: 0.2 / MILLION, gigabyteSecond: 0.0000133334 },
  /** On demand. */
  table: { writeUnit: 0.625 / MILLION, readUnit: 0.125 / MILLION },
} as const;

export type RequestCost = { readonly functions: number; readonly table: number; readonly gateway: number };

export type BilledRequest = {
  readonly asked: Pick<Asked, 'writeUnits' | 'readUnits'>;
  readonly ms: number;
  readonly gigabytes: number;
  /** Of its body. */
  readonly bytes: number;
};

/** Of one request, in dollars. */
export function costOf({ asked, ms, gigabytes, bytes }: BilledRequest): RequestCost {
  const { gateway, lambda, table } = PRICES;
  return {
    functions: lambda.request + (ms / 1_000) * gigabytes * lambda.gigabyteSecond,
    table: asked.writeUnits * table.writeUnit + asked.readUnits * table.readUnit,
    gateway: Math.ceil(bytes / gateway.bytes) * gateway.request,
  };
}
