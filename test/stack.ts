import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createTable } from '../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';

export type StoreAddress = {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
};
export type TableAddress = {
  readonly endpoint: string;
  readonly table: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
};

/** Real stores that run. `filer` is SeaweedFS's own port, without credentials: for looking behind the gateway, and for damage. */
export type Stack = {
  readonly store: StoreAddress;
  readonly filer: string;
  readonly dynoxide: TableAddress;
  readonly ministack: TableAddress;
};

declare module 'vitest' {
  // Vitest's own way to type what a global setup provides.
  interface ProvidedContext {
    stack: Stack;
  }
}

/** The stores that all integration tests of this run share. Nobody stops or damages them; see own-stack.ts for that. */
export function sharedStack(): Stack {
  return inject('stack');
}

/** A table of its own for one test, so that tests don't meet. */
export async function freshTable(kind: 'dynoxide' | 'ministack', signal: AbortSignal): Promise<TableAddress> {
  const address = { ...sharedStack()[kind], table: `kelp-${randomBytes(8).toString('hex')}` };
  await createTable(address, createSystemClock(), signal);
  return address;
}

/** A prefix of its own in the shared bucket, without a slash at its end. Buckets are costly in SeaweedFS, prefixes are not. */
export function freshPrefix(): string {
  return `t${randomBytes(8).toString('hex')}`;
}
