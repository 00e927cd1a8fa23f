import { type Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';

export type Call = {
  readonly url: string;
  readonly agent: Agent;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Longer than the server takes for anything. */
  readonly waitMs: number;
};

export type Reply =
  | { readonly answered: true; readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  /** `sent`: it may have reached the server. */
  | { readonly answered: false; readonly sent: boolean; readonly error: Error };

/** One request, never repeated: not every HTTP client leaves that to its caller. */
export function call({ url, agent, method, headers, body, waitMs }: Call): Promise<Reply> {
  return new Promise((resolve) => {
    const request = httpRequest(url, { agent, method, headers, timeout: waitMs });
    const fail = (error: NodeJS.ErrnoException): void => resolve({ answered: false, sent: error.syscall !== 'connect', error });
    request.once('error', fail);
    request.once('timeout', () => request.destroy(new Error(`no answer within ${waitMs} ms`)));
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.once('error', fail);
      response.once('end', () => resolve({ answered: true, status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.end(body);
  });
}
