/** Bytes of bodies that may be in memory at a time, over all requests. */
export type BodyBudget = {
  /** False: not so many are left, and none were taken. */
  take(bytes: number): boolean;
  give(bytes: number): void;
};

export function createBodyBudget(bytesMax: number): BodyBudget {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > bytesMax) return false;
      taken += bytes;
      return true;
    },
    give(bytes) {
      taken -= bytes;
    },
  };
}
