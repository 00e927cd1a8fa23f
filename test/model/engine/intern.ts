/** Gives each distinct value a small number, so that states are short lists of numbers. Values must not be mutated. */
export type Interner<T> = { id(value: T): number; get(id: number): T };

export function createInterner<T extends object>(): Interner<T> {
  const ids = new Map<string, number>();
  const known = new WeakMap<object, number>();
  const values: T[] = [];
  return {
    id(value) {
      const seen = known.get(value);
      if (seen !== undefined) return seen;
      const text = canonical(value);
      let id = ids.get(text);
      if (id === undefined) {
        id = values.length;
        values.push(value);
        ids.set(text, id);
      }
      known.set(value, id);
      return id;
    },
    get(id) {
      const value = values[id];
      if (value === undefined) throw new Error(`no value has the number ${id}`);
      return value;
    },
  };
}

/** Equal text for equal values, whatever the order of their members. */
export function canonical(value: unknown): string {
  if (value === undefined) return '~';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${value.join(',')}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value instanceof Map) return `m${canonicalEntries([...(value as Map<string, unknown>)])}`;
  return canonicalEntries(Object.entries(value));
}

function canonicalEntries(entries: readonly (readonly [string, unknown])[]): string {
  const sorted = entries.filter(([, value]) => value !== undefined).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(',')}}`;
}

/** Codes a number as one or two characters, so that a list of them is a short text that stands for a state. */
export function coded(id: number): string {
  if (id < 0x8000) return String.fromCharCode(id);
  return String.fromCharCode(0x8000 | (id >>> 15), id & 0x7fff);
}
