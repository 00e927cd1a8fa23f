import { createServer, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a proxy makes of a request's path and headers. */
export type Change = (path: string, headers: IncomingHttpHeaders) => { readonly path: string; readonly headers: IncomingHttpHeaders };

export type ChangingProxy = { readonly port: number; stop(): Promise<void> };

/** Stands in front of a server and passes requests on, changed. */
export async function startChangingProxy(upstream: URL, change: Change): Promise<ChangingProxy> {
  const server = createServer((message, response) => {
    const { path, headers } = change(message.url ?? '', message.headers);
    const passed = httpRequest({ host: upstream.hostname, port: upstream.port, method: message.method, path, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
    });
    message.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const withoutPrefix = (path: string): string => path.replace(/^\/s3(?=\/)/, '');

export const kept: Change = (path, headers) => ({ path, headers });

/** Takes `/s3` away, and says more. */
export const stripped =
  (more: Record<string, string>): Change =>
  (path, headers) => ({ path: withoutPrefix(path), headers: { ...headers, ...more } });

/** The same, and the server's own host in place of the client's, as most proxies do by themselves. */
export const renamed =
  (upstream: URL, moreOf: (host: string) => Record<string, string>): Change =>
  (path, headers) => ({ path: withoutPrefix(path), headers: { ...headers, host: upstream.host, ...moreOf(headers.host ?? '') } });
