import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import type { Flight } from './flights.ts';

const FAULTS = ['lost', 'doubled', 'out of order', 'changed', 'misplaced', 'unknown', 'off sequence', 'refused'] as const;
/**
 * `lost`: published and never read. `doubled`: read again. `out of order`: behind a later flight of its key. `changed`: another
 * key or value. `misplaced`: not at the address of its acknowledgement. `unknown`: never published. `off sequence`: an offset
 * that is not the one after its segment's last. `refused`: its publisher was told that it is not stored, and it is.
 */
export type Fault = (typeof FAULTS)[number];

export type Address = { readonly segment: string; readonly offset: number };
export type ReadFlight = Address & { readonly key: unknown; readonly value: unknown };
export type Finding = { readonly fault: Fault; readonly count: number; /** The first one. */ readonly example: string };

export type Audit = {
  /** Before the flight is sent. */
  sent(flight: Flight): void;
  acknowledged(flight: Pick<Flight, 'row'>, address: Address): void;
  /** Every message, in the order in which they are read. */
  read(message: ReadFlight): void;
  readonly readCount: () => number;
  readonly keys: () => number;
  readonly segments: () => number;
  /** Empty when all is well. */
  findings(): Finding[];
};

const NO_ROW = -1;

/** Keeps 11 bytes a row, however large the values are: what a flight was is known by its checksum. */
export function createAudit(rows: number): Audit {
  const checksums = new Uint32Array(rows);
  const wasSent = new Uint8Array(rows);
  const wasRead = new Uint8Array(rows);
  const places = createPlaces(rows);
  const lastRows = new Map<string, number>();
  const nextOffsets = new Map<string, number>();
  const found = createFindings();
  let readCount = 0;

  function checkContent(row: number, { key, value, ...address }: ReadFlight): void {
    const { origin } = value as { origin?: unknown };
    const isSame = key === origin && crc32(JSON.stringify(value)) === checksums[row];
    if (!isSame) found.add('changed', describe(row, key, address));
    if (!places.isAt(row, address)) found.add('misplaced', describe(row, key, address));
  }

  function checkOrder(row: number, { key, ...address }: ReadFlight): void {
    const last = lastRows.get(String(key)) ?? NO_ROW;
    if (row < last) found.add('out of order', `${describe(row, key, address)}, behind row ${last}`);
    else lastRows.set(String(key), row);
  }

  return {
    sent({ row, value }) {
      assert(row < rows && wasSent[row] === 0, `row ${row} is sent once`);
      wasSent[row] = 1;
      checksums[row] = crc32(value);
    },
    acknowledged: ({ row }, address) => places.set(row, address),
    read(message) {
      readCount += 1;
      const { segment, offset, key } = message;
      const next = nextOffsets.get(segment) ?? 0;
      if (offset !== next) found.add('off sequence', `${segment}:${offset} where ${next} comes next`);
      nextOffsets.set(segment, offset + 1);
      const row = rowOf(message.value);
      if (row === undefined || wasSent[row] !== 1) {
        found.add('unknown', `${segment}:${offset}`);
        return;
      }
      if (wasRead[row] === 1) {
        found.add('doubled', describe(row, key, message));
        return;
      }
      wasRead[row] = 1;
      checkContent(row, message);
      checkOrder(row, message);
    },
    readCount: () => readCount,
    keys: () => lastRows.size,
    segments: () => nextOffsets.size,
    findings() {
      const lost = countLost(wasSent, wasRead);
      return [...(lost.count === 0 ? [] : [{ fault: 'lost', ...lost } as const]), ...found.all()];
    },
  };
}

/** One line for people. */
export function describeFindings(findings: readonly Finding[]): string {
  return findings.map(({ fault, count, example }) => `${count} ${fault} (first: ${example})`).join('; ');
}

function createPlaces(rows: number): { set(row: number, address: Address): void; isAt(row: number, address: Address): boolean } {
  const numbers = new Map<string, number>();
  // A segment has at most as many messages as there are rows, so that 32 bits hold an offset.
  const offsets = new Uint32Array(rows);
  const segments = new Uint16Array(rows);
  return {
    set(row, { segment, offset }) {
      const number = numbers.get(segment) ?? numbers.size + 1;
      numbers.set(segment, number);
      segments[row] = number;
      offsets[row] = offset;
    },
    isAt: (row, { segment, offset }) => segments[row] === numbers.get(segment) && offsets[row] === offset,
  };
}

type Findings = { add(fault: Fault, example: string): void; all(): Finding[] };

function createFindings(): Findings {
  const byFault = new Map<Fault, Finding>();
  return {
    add(fault, example) {
      const before = byFault.get(fault);
      byFault.set(fault, { fault, count: (before?.count ?? 0) + 1, example: before?.example ?? example });
    },
    all: () => FAULTS.flatMap((fault) => byFault.get(fault) ?? []),
  };
}

function rowOf(value: unknown): number | undefined {
  const row: unknown = typeof value === 'object' && value !== null && 'row' in value ? value.row : undefined;
  return typeof row === 'number' && Number.isInteger(row) && row >= 0 ? row : undefined;
}

function countLost(wasSent: Uint8Array, wasRead: Uint8Array): { readonly count: number; readonly example: string } {
  let count = 0;
  let first = NO_ROW;
  wasSent.forEach((sent, row) => {
    if (sent === 0 || wasRead[row] === 1) return;
    count += 1;
    if (first === NO_ROW) first = row;
  });
  return { count, example: `row ${first}` };
}

function describe(row: number, key: unknown, { segment, offset }: Address): string {
  return `row ${row}, key ${String(key)}, at ${segment}:${offset}`;
}
