/** What is needed of `process.stderr`. */
type Output = {
  on(event: 'error', listener: () => void): unknown;
  write(text: string, done: (error?: Error | null) => void): unknown;
};

/**
 * Takes log lines. One that can't be written, since the disk is full or whoever read has gone, is lost, and the process goes on: it
 * stores elsewhere. Behind the next one that is written comes how many there were.
 */
export function createLogOutput(output: Output): (line: string) => void {
  let lost = 0;
  // Each is counted below; if nobody listened, the first one would end the process.
  output.on('error', () => undefined);
  const write = (line: string): void => {
    output.write(`${line}\n`, (error) => {
      if (error) lost += 1;
      else if (lost > 0) tell();
    });
  };
  function tell(): void {
    const count = lost;
    lost = 0;
    write(`kelp: lines of the log that could not be written before: ${count}`);
  }
  return write;
}
