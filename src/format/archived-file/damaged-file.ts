import { KelpError } from '../../model/errors.ts';

/** What is wrong with a file; whoever reads it says which. */
export const damagedFile = (why: string, cause?: unknown): KelpError =>
  new KelpError('corrupt', 'corrupt', `an archived file is damaged: ${why}`, { cause });
