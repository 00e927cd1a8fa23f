import { KelpError } from '../model/errors.ts';
import type { WantedFile } from './archived-files.ts';
import { damaged } from './damage.ts';

type FilePlace = { readonly file: WantedFile; readonly offset: number; readonly nextOffset: number };

/** What was read of a file, or its damage by its place, which whoever reads the bytes does not know. A missing one is damage as well. */
export async function orDamage<T>(read: Promise<T>, { file, offset, nextOffset }: FilePlace): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof KelpError) || (error.kind !== 'corrupt' && error.code !== 'object-not-found')) throw error;
    const where = { topic: file.topic.name, segment: file.segment, offset, nextOffset, object: file.key };
    throw damaged(where, error.kind === 'corrupt' ? error.message : 'an archived file is missing', error);
  }
}
