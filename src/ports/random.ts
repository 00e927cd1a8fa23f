/** Randomness, as a port. */
export type Random = {
  /** `length` random characters of `[0-9a-z]`, from a cryptographic source. */
  base36(length: number): string;
  /** A number in [0, 1), for jitter. */
  fraction(): number;
};
