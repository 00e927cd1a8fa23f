import { HEADERS_KNOWN_MAX } from '../model/upload-limits.ts';
import type { ByteRange } from './object-ranges.ts';
import type { RunHeader } from './run-headers.ts';

/** The headers of runs that were read last, within a bound of headers: objects never change. */
export type KnownHeaders = {
  get(run: ByteRange): readonly RunHeader[] | undefined;
  add(run: ByteRange, headers: readonly RunHeader[]): void;
};

export function createKnownHeaders(headersMax: number = HEADERS_KNOWN_MAX): KnownHeaders {
  // In the order of their last use.
  const runs = new Map<string, readonly RunHeader[]>();
  let total = 0;

  function drop(name: string): void {
    total -= runs.get(name)?.length ?? 0;
    runs.delete(name);
  }

  return {
    get(run) {
      const name = nameOf(run);
      const headers = runs.get(name);
      if (headers === undefined) return undefined;
      runs.delete(name);
      runs.set(name, headers);
      return headers;
    },
    add(run, headers) {
      const name = nameOf(run);
      drop(name);
      runs.set(name, headers);
      total += headers.length;
      for (const oldest of runs.keys()) {
        if (total <= headersMax) break;
        drop(oldest);
      }
    },
  };
}

const nameOf = ({ key, start, length }: ByteRange): string => `${key}/${start}/${length}`;
