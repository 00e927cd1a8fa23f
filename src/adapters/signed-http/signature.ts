import { createHmac, hash } from 'node:crypto';

// AWS Signature Version 4 with the signature in a header, as the S3 and DynamoDB APIs ask for it.

export type Signing = {
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** For temporary credentials. */
  readonly sessionToken?: string;
};

export type SignedRequest = {
  readonly method: string;
  /** Percent-encoded path, which begins with a slash. */
  readonly path: string;
  /** Percent-encoded query with its names in order; empty for none. */
  readonly query: string;
  readonly host: string;
  /** Other headers to sign: lower-case names, values without blanks around them. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hex, or what the service allows instead. */
  readonly bodyHash: string;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
};

/** Answers all headers to send with the request. */
export type Signer = (request: SignedRequest) => Record<string, string>;

const ALGORITHM = 'AWS4-HMAC-SHA256';

export function createSigner(service: 's3' | 'dynamodb', signing: Signing): Signer {
  const { region, accessKey, secretKey, sessionToken } = signing;
  let second = -1;
  let time = '';
  let day = '';
  let scope = '';
  let key: Buffer = Buffer.alloc(0);

  return ({ method, path, query, host, headers, bodyHash, timeMs }) => {
    if (Math.floor(timeMs / 1_000) !== second) {
      second = Math.floor(timeMs / 1_000);
      time = isoTime(timeMs);
    }
    if (time.slice(0, 8) !== day) {
      // Four hashes, the same for all requests of a day.
      day = time.slice(0, 8);
      scope = `${day}/${region}/${service}/aws4_request`;
      key = [day, region, service, 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secretKey}`));
    }
    const signed: Record<string, string> = { host, ...headers, 'x-amz-date': time };
    if (sessionToken !== undefined) signed['x-amz-security-token'] = sessionToken;
    const names = Object.keys(signed).toSorted();
    const lines = names.map((name) => `${name}:${signed[name] ?? ''}\n`).join('');
    const canonical = `${method}\n${path}\n${query}\n${lines}\n${names.join(';')}\n${bodyHash}`;
    const signature = hmac(key, `${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', canonical)}`).toString('hex');
    const credential = `Credential=${accessKey}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
    signed['authorization'] = `${ALGORITHM} ${credential}`;
    return signed;
  };
}

/** Characters outside the unreserved ones as `%XX` of their UTF-8 bytes, which is what the signature is computed on. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** `20260131T235959Z` */
function isoTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
