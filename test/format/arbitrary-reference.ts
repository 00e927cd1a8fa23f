import fc from 'fast-check';
import type { UploadId } from '../../src/model/ids.ts';
import { UPLOAD_BYTES_MAX } from '../../src/model/upload-limits.ts';
import type { Reference } from '../../src/model/upload.ts';

const arbitraryUploadId = fc.stringMatching(/^u[0-9a-z]{15}$/) as fc.Arbitrary<UploadId>;

const token = fc.stringMatching(/^[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,9}$/);
const quoted = fc.array(fc.constantFrom('a', ' ;', '\\"', '\\\\', ',', '{'), { maxLength: 9 }).map((parts) => `"${parts.join('')}"`);
const parameter = fc
  .tuple(fc.constantFrom(';', '; ', ' ;', ' ; '), token, fc.oneof(token, quoted))
  .map(([separator, name, value]) => `${separator}${name}=${value}`);

const arbitraryContentType = fc
  .tuple(token, token, fc.array(parameter, { maxLength: 4 }))
  .map(([type, subtype, parameters]) => `${type}/${subtype}${parameters.join('')}`);

export const arbitraryReference: fc.Arbitrary<Reference> = fc.record({
  upload: arbitraryUploadId,
  bytes: fc.integer({ min: 0, max: UPLOAD_BYTES_MAX }),
  sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
  contentType: arbitraryContentType,
});
