import { createHmac, hash } from 'node:crypto';
import { KelpError } from '../../model/errors.ts';

// AWS Signature Version 4, as the S3 and DynamoDB APIs ask for it: in a header, or in the query of a URL that others use.

export type Service = 's3' | 'dynamodb';

export type Signing = {
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** For temporary credentials. */
  readonly sessionToken?: string;
};

type Unsigned = {
  readonly method: string;
  /** Percent-encoded path, which begins with a slash. */
  readonly path: string;
  readonly host: string;
  /** Other headers to sign: lower-case names, values without blanks around them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
};

export type SignedRequest = Unsigned & {
  /** Percent-encoded query with its names in order; empty for none. */
  readonly query: string;
  /** SHA-256 of the body in hex, or what the service allows instead. */
  readonly bodyHash: string;
};

export type UrlRequest = Unsigned & {
  /** As it is, not encoded. */
  readonly query: Readonly<Record<string, string>>;
  /** From 1 to 604,800. */
  readonly seconds: number;
};

/** Answers all headers to send with the request. */
export type Signer = (request: SignedRequest) => Record<string, string>;

/** Answers the query of a URL that is good for so many seconds, for a request with these headers; its body is not hashed. */
export type UrlSigner = (request: UrlRequest) => string;

const ALGORITHM = 'AWS4-HMAC-SHA256';
const SECOND_MS = 1_000;
/** In place of a hash: making it would cost more than sending the body, and records have checksums of their own; or nobody has it yet. */
export const UNSIGNED_BODY = 'UNSIGNED-PAYLOAD';

/** Of a client that could have its runtime find them. */
export type Keys = Partial<Signing> & Pick<Signing, 'region'>;

/** Error `invalid`/`invalid-configuration`: there are no keys. */
export function signingOf(service: Service, { region, accessKey, secretKey, sessionToken }: Keys): Signing {
  if (accessKey !== undefined && secretKey !== undefined) {
    return { region, accessKey, secretKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  }
  const message = `no credentials for ${service}: an access key and a secret key must be in the environment`;
  throw new KelpError('invalid', 'invalid-configuration', message);
}

export function createSigner(service: Service, signing: Signing): Signer {
  const { accessKey, sessionToken } = signing;
  const signerAt = createSignerAt(service, signing);
  return (request) => {
    const { time, scope, sign } = signerAt(request.timeMs);
    const headers: Record<string, string> = { host: request.host, ...request.headers, 'x-amz-date': time };
    if (sessionToken !== undefined) headers['x-amz-security-token'] = sessionToken;
    const names = Object.keys(headers).toSorted();
    const signature = sign({ ...request, headers, names });
    headers['authorization'] = `${ALGORITHM} Credential=${accessKey}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
    return headers;
  };
}

export function createUrlSigner(service: Service, signing: Signing): UrlSigner {
  const { accessKey, sessionToken } = signing;
  const signerAt = createSignerAt(service, signing);
  return ({ seconds, query, ...request }) => {
    const { time, scope, sign } = signerAt(request.timeMs);
    const headers = { host: request.host, ...request.headers };
    const names = Object.keys(headers).toSorted();
    const signed = encodeQuery({
      ...query,
      'X-Amz-Algorithm': ALGORITHM,
      'X-Amz-Credential': `${accessKey}/${scope}`,
      'X-Amz-Date': time,
      'X-Amz-Expires': String(seconds),
      ...(sessionToken === undefined ? {} : { 'X-Amz-Security-Token': sessionToken }),
      'X-Amz-SignedHeaders': names.join(';'),
    });
    return `${signed}&X-Amz-Signature=${sign({ ...request, query: signed, headers, names, bodyHash: UNSIGNED_BODY })}`;
  };
}

/** Characters outside the unreserved ones as `%XX` of their UTF-8 bytes, which is what the signature is computed on. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The same of each of its parts: the slashes between them stay. */
export const percentEncodePath = (path: string): string => path.split('/').map(percentEncode).join('/');

type Canonical = Pick<SignedRequest, 'method' | 'path' | 'query' | 'bodyHash' | 'headers'> & {
  /** Of all headers, in order. */
  readonly names: readonly string[];
};
type SignerAt = { readonly time: string; readonly scope: string; readonly sign: (request: Canonical) => string };

/** What is the same for all requests of a second, or of a day, is kept. */
function createSignerAt(service: Service, { region, secretKey }: Signing): (timeMs: number) => SignerAt {
  let second = -1;
  let time = '';
  let day = '';
  let scope = '';
  let key: Buffer = Buffer.alloc(0);

  function sign({ method, path, query, bodyHash, headers, names }: Canonical): string {
    const lines = names.map((name) => `${name}:${(headers[name] ?? '').replaceAll(/ {2,}/g, ' ')}\n`).join('');
    const canonical = `${method}\n${path}\n${query}\n${lines}\n${names.join(';')}\n${bodyHash}`;
    return hmac(key, `${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', canonical)}`).toString('hex');
  }

  return (timeMs) => {
    if (Math.floor(timeMs / SECOND_MS) !== second) {
      second = Math.floor(timeMs / SECOND_MS);
      time = isoTime(timeMs);
    }
    if (time.slice(0, 8) !== day) {
      day = time.slice(0, 8);
      scope = `${day}/${region}/${service}/aws4_request`;
      key = [day, region, service, 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secretKey}`));
    }
    return { time, scope, sign };
  };
}

function encodeQuery(query: Readonly<Record<string, string>>): string {
  const names = Object.keys(query).toSorted();
  return names.map((name) => `${percentEncode(name)}=${percentEncode(query[name] ?? '')}`).join('&');
}

/** `20260131T235959Z` */
function isoTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
