import type { UploadContent } from '../model/upload.ts';

/** What anybody may send once, without credentials: by this method to this URL, with exactly these headers. Names are in small letters. */
export type PresignedRequest = {
  readonly method: 'PUT' | 'GET';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Lets others speak to the object store for one purpose and a time, as a port. The store enforces what is signed: for a PUT
 * the length, the SHA-256 and the type of the bytes, and that nothing is there yet; for a GET the range, and that the answer
 * is an attachment of no type that a browser would show. Nothing is asked of the store.
 */
export type Presigner = {
  put(key: string, content: UploadContent, forMs: number): PresignedRequest;
  /** `range`: these bytes alone, and the request must ask for them. */
  get(key: string, forMs: number, range?: { readonly start: number; readonly bytes: number }): PresignedRequest;
};
