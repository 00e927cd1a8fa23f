import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';

export type RawRequest = { readonly method: string; readonly url: string; readonly headers: Readonly<Record<string, string>> };
export type RawAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Of an error in XML. */ readonly code: string;
};

/** As a simple client sends it: these headers and this body, and nothing by itself. `to`: another address than the URL's. */
export function sendRaw(
  { method, url, headers }: RawRequest,
  body: string | Buffer = '',
  to?: { readonly port: number },
): Promise<RawAnswer> {
  const { host, hostname, port, pathname, search } = new URL(url);
  const address = to === undefined ? { host: hostname, port } : { host: '127.0.0.1', port: to.port };
  return new Promise((resolve, reject) => {
    const sent = { ...address, method, path: `${pathname}${search}`, headers: { ...headers, host }, agent: false };
    const request = httpRequest(sent, (answer) => {
      buffer(answer).then((bytes) => {
        const code = /(?<=<Code>)\w+/.exec(bytes.toString())?.[0] ?? '';
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: bytes, code });
      }, reject);
    });
    request.once('error', reject).end(body);
  });
}
