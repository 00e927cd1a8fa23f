/** Maps with at most `parallelMax` calls under way; rejects with the first failure, after which nothing new is begun. */
export async function inParallel<T, R>(values: readonly T[], parallelMax: number, map: (value: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  let failed = false;
  async function work(): Promise<void> {
    while (next < values.length && !failed) {
      const index = next;
      next += 1;
      try {
        results[index] = await map(values[index] as T);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallelMax, values.length) }, work));
  return results;
}
