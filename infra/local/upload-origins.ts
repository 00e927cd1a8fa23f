import * as z from 'zod/mini';
import { matching, readVariables, variable, type Variables } from '../../src/cli/environment.ts';

const origins = variable(
  'origins such as https://app.example.org with commas between them, or *',
  matching(/^(\*|https?:\/\/[^\s/,*@?#]+(,https?:\/\/[^\s/,*@?#]+)*)$/),
);
const Origins = z.object({ KELP_UPLOAD_ORIGINS: z.optional(origins) });

/** Web pages of which origins may upload to the bucket and read from it; undefined: not told. Error `invalid`/`invalid-configuration`. */
export function readUploadOrigins(environment: Variables): readonly string[] | undefined {
  return readVariables(Origins, environment).KELP_UPLOAD_ORIGINS?.split(',');
}
