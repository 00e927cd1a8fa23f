import type { Clock } from '../../ports/clock.ts';
import type { PresignedRequest, Presigner } from '../../ports/presigner.ts';
import { createUrlSigner, percentEncodePath, signingOf } from '../signed-http/signature.ts';
import { checkKey } from './check-key.ts';
import { getHeaders, putHeaders } from './presigned-headers.ts';
import type { StoreSettings } from './store-settings.ts';

export type PresignerSettings = StoreSettings & { readonly clock: Pick<Clock, 'nowMs'> };

type Granted = {
  readonly method: PresignedRequest['method'];
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly forMs: number;
};

/** Whatever was uploaded, no browser shows it: not as a page, not under a name with a type. */
const AS_ATTACHMENT = { 'response-content-disposition': 'attachment', 'response-content-type': 'application/octet-stream' };

/**
 * By a signature in the URL. It is one of what clients send: of the public endpoint's host and path, which a proxy has to tell the
 * store if it changes them (infra/self-hosted.md).
 */
export function createPresigner(settings: PresignerSettings): Presigner {
  const { bucket, region, clock } = settings;
  const sign = createUrlSigner('s3', signingOf('s3', settings));
  const { origin, host, pathname } = new URL(settings.publicEndpoint ?? settings.endpoint ?? `https://s3.${region}.amazonaws.com`);
  const prefix = `${pathname.replace(/\/$/, '')}/${bucket}`;

  function request({ method, key, headers, query, forMs }: Granted): PresignedRequest {
    checkKey(key);
    const path = `${prefix}/${percentEncodePath(key)}`;
    const signed = sign({ method, path, query, host, headers, timeMs: clock.nowMs(), seconds: Math.floor(forMs / 1_000) });
    return { method, url: `${origin}${path}?${signed}`, headers };
  }

  return {
    put: (key, content, forMs) => request({ method: 'PUT', key, headers: putHeaders(content), query: {}, forMs }),
    get: (key, forMs, range) => request({ method: 'GET', key, headers: getHeaders(range), query: AS_ATTACHMENT, forMs }),
  };
}
