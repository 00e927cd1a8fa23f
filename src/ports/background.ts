/**
 * Work that outlives the call that started it (spills, clean-up): detached from that caller's signal, bounded by itself.
 * A process runs it beside other work and waits for it when it stops; a function finishes it before the invocation ends.
 */
export type Background = {
  /** `task` gets a signal of its own, which ends it after `msMax`. A failure is logged and counted, never thrown. */
  run(name: string, msMax: number, task: (signal: AbortSignal) => Promise<void>): void;
};
