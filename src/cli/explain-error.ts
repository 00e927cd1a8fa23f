import { KelpError } from '../model/errors.ts';

/** What a person reads of an error: one line for each thing that is wrong; a bug, which we didn't raise ourselves, with its stack. */
export function explainError(error: unknown): string {
  if (error instanceof KelpError) {
    const lines = error.message.split('\n');
    return lines.map((line) => `kelp: ${line}`).join('\n');
  }
  return `kelp: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
