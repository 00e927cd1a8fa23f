import { send } from '../http/test-app.ts';
import type { Send } from './http-scenario.ts';
import { ROOT_TOKEN, type Served } from './run-serve.ts';

/** Requests to a broker's process, with the root token unless told otherwise. */
export const sendTo =
  ({ url }: Served): Send =>
  (method, path, sending) =>
    send(
      async (request) => {
        const { body, headers } = request;
        return fetch(`${url}${path}`, { method, headers, ...(body === null ? {} : { body: await request.arrayBuffer() }) });
      },
      method,
      path,
      { token: ROOT_TOKEN, ...sending },
    );
