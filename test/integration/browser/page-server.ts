import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { callerOf } from '../run-serve.ts';

export type PageServer = { readonly origin: string; stop(): Promise<void> };

type Call = ReturnType<typeof callerOf>;

/** The server of a web page: it has the token, and no byte of an upload passes it. */
export async function startPageServer(call: Call, topic: string): Promise<PageServer> {
  const page = readFileSync(join(import.meta.dirname, 'upload-page.html'));
  const steps: Record<string, (body: unknown) => Promise<Response>> = {
    '/announce': (body) => call('POST', `/v1/topics/${topic}/uploads`, body),
    '/publish': async (body) => {
      const { upload } = body as { upload: string };
      const published = await call('POST', `/v1/topics/${topic}/messages`, { messages: [{ key: 'page', upload }] });
      return published.ok ? call('GET', `/v1/topics/${topic}/uploads/${upload}`) : published;
    },
  };
  const server = createServer((message, response) => {
    const step = steps[message.url ?? ''];
    if (step === undefined) response.setHeader('content-type', 'text/html').end(page);
    else void json(message).then(step).then(passOn(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const passOn =
  (response: ServerResponse) =>
  async (answer: Response): Promise<void> => {
    const body = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(body);
  };
