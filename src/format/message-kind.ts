import { type Bytes, type Header, KIND_HEADER, type Message } from '../model/message.ts';
import { encodeUtf8 } from './utf8.ts';

/** How a value was sent, where it was sent as more than bytes; `upload`: the value is a reference to one. */
export type Kind = 'json' | 'text' | 'upload';

const KINDS = ['json', 'text', 'upload'] as const satisfies readonly Kind[];
const HEADERS: Readonly<Record<Kind, Header>> = {
  json: { name: KIND_HEADER, value: encodeUtf8('json') },
  text: { name: KIND_HEADER, value: encodeUtf8('text') },
  upload: { name: KIND_HEADER, value: encodeUtf8('upload') },
};
const NO_OTHERS: Readonly<Record<Kind, readonly Header[]>> = {
  json: [HEADERS.json],
  text: [HEADERS.text],
  upload: [HEADERS.upload],
};

/** The headers as they are stored; undefined: bytes. */
export function withKind(headers: readonly Header[], kind: Kind | undefined): readonly Header[] {
  if (kind === undefined) return headers;
  return headers.length === 0 ? NO_OTHERS[kind] : [...headers, HEADERS[kind]];
}

/** What the stored headers say. A batch can hold anything there: only a single header with one of the known words counts. */
export function kindOf({ headers }: Pick<Message, 'headers'>): Kind | undefined {
  let found: Header | undefined;
  for (const header of headers) {
    if (header.name !== KIND_HEADER) continue;
    if (found !== undefined) return undefined;
    found = header;
  }
  return KINDS.find((kind) => equalBytes(found?.value, HEADERS[kind].value));
}

/** Whether a header says that the value is a reference: only who has asked for the upload's item may say so. */
export const saysUpload = ({ name, value }: Header): boolean => name === KIND_HEADER && equalBytes(value, HEADERS.upload.value);

function equalBytes(a: Bytes | null | undefined, b: Bytes | null): boolean {
  return a instanceof Uint8Array && b !== null && a.length === b.length && b.every((byte, at) => byte === a[at]);
}
