/** Has something ended when the platform ends the instance. */
export type OnTerminate = (end: () => Promise<unknown>) => void;

/** A platform that says SIGTERM gives 500 ms; one that doesn't leaves no time for anything. */
export const onTerminate: OnTerminate = (end) => void process.once('SIGTERM', () => void end().finally(() => process.exit()));
