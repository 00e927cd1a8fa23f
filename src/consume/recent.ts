/** What was used last, within a bound of what it weighs. */
export type Recent<T> = {
  get(name: string): T | undefined;
  add(name: string, value: T, weight: number): void;
  /** All whose name begins so. */
  drop(prefix: string): void;
};

/** The newest stays whatever its weight: somebody is about to use it. */
export function createRecent<T>(weightMax: number): Recent<T> {
  // In the order of their last use.
  const entries = new Map<string, { readonly value: T; readonly weight: number }>();
  let total = 0;

  function remove(name: string): void {
    total -= entries.get(name)?.weight ?? 0;
    entries.delete(name);
  }

  return {
    get(name) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      entries.delete(name);
      entries.set(name, entry);
      return entry.value;
    },
    add(name, value, weight) {
      remove(name);
      entries.set(name, { value, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= weightMax || entries.size === 1) return;
        remove(oldest);
      }
    },
    drop(prefix) {
      for (const name of entries.keys()) if (name.startsWith(prefix)) remove(name);
    },
  };
}
