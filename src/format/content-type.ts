import { UPLOAD_TYPE_BYTES_MAX } from '../model/upload-limits.ts';

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"`;
const CONTENT_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?: ?; ?${TOKEN}=(?:${TOKEN}|${QUOTED}))*$`);

/**
 * Whether the text is a type, a subtype and parameters, in printable ASCII. It is signed as a header: two blanks in a row
 * stand for one there, and would be sent as two.
 */
export const isContentType = (text: string): boolean =>
  text.length <= UPLOAD_TYPE_BYTES_MAX && CONTENT_TYPE.test(text) && !text.includes('  ');
