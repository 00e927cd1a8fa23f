/** Begins the work once all that was given before has ended, whichever way. */
export type OneAtATime = <T>(work: () => Promise<T>) => Promise<T>;

export function createOneAtATime(): OneAtATime {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    // Whoever gave it hears of its failure.
    last = done.catch(() => undefined);
    return done;
  };
}
