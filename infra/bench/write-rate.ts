/** Write units by key, as DynamoDB has them: so many a second, and what wasn't used for some time. */
export type WriteRate = {
  /** Whether a write may go ahead that is thought to cost so many units; they are taken at once. */
  admit(key: string, units: number): boolean;
  /** What it has cost beyond that (or less); what isn't there is owed by the writes that come next. */
  charge(key: string, units: number): void;
};

export type WriteRateOptions = {
  readonly unitsPerSecond: number;
  /** How long unused units are kept. */
  readonly burstSeconds: number;
  /** Monotonic. */
  readonly nowMs: () => number;
};

type Bucket = { units: number; atMs: number };

/** A write goes ahead while there is anything left: one that is larger than the burst would never do otherwise. */
export function createWriteRate({ unitsPerSecond, burstSeconds, nowMs }: WriteRateOptions): WriteRate {
  const burst = unitsPerSecond * burstSeconds;
  const buckets = new Map<string, Bucket>();

  function bucketOf(key: string): Bucket {
    const bucket = buckets.get(key) ?? { units: burst, atMs: nowMs() };
    buckets.set(key, bucket);
    bucket.units = Math.min(burst, bucket.units + ((nowMs() - bucket.atMs) / 1_000) * unitsPerSecond);
    bucket.atMs = nowMs();
    return bucket;
  }

  return {
    admit(key, units) {
      const bucket = bucketOf(key);
      if (bucket.units <= 0) return false;
      bucket.units -= units;
      return true;
    },
    charge: (key, units) => void (bucketOf(key).units -= units),
  };
}
