import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLogOutput } from '../../src/cli/log-output.ts';

/** As `process.stderr`: it fails, and takes the next one all the same. */
class Disk extends EventEmitter {
  readonly lines: string[] = [];
  isFull = false;

  write(text: string, done: (error?: Error) => void): void {
    const error = this.isFull ? new Error('ENOSPC') : undefined;
    if (error === undefined) this.lines.push(text);
    process.nextTick(() => {
      done(error);
      if (error !== undefined) this.emit('error', error);
    });
  }
}

test('lines that could not be written are counted, and said behind the next one that is', async () => {
  const disk = new Disk();
  const write = createLogOutput(disk);
  const writeAll = async (...lines: string[]): Promise<void> => {
    for (const line of lines) write(line);
    await turn();
  };
  await writeAll('a');
  disk.isFull = true;
  await writeAll('b', 'c');
  disk.isFull = false;
  await writeAll('d');
  await writeAll('e');
  expect(disk.lines.join('')).toBe('a\nd\nkelp: lines of the log that could not be written before: 2\ne\n');
});
