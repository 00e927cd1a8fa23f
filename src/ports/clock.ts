/** Time, as a port: no other module may read a clock or start a timer. */
export type Clock = {
  /** Wall clock in milliseconds since 1970. May jump; safety never depends on it. */
  nowMs(): number;
  /** Milliseconds on a clock that never goes back; only differences mean anything. */
  monotonicMs(): number;
  /** Resolves after `ms`, or rejects with the signal's own reason as soon as it aborts. Leaves no timer and no listener behind. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A signal that aborts with a TimeoutError after `ms`. Keeps no process alive. */
  deadline(ms: number): AbortSignal;
};
