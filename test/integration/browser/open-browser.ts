import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { untilReady } from '../../../infra/local/until.ts';
import type { Children } from '../../../infra/local/processes.ts';
import { findChromium } from './find-chromium.ts';

// As much of the DevTools protocol as a test of a page needs.

export type Page = {
  /** Goes there; answers why it stayed where it was, if it did. */
  goTo(url: string): Promise<string | undefined>;
  /** What the expression has, or resolves to, as JSON. */
  evaluate<T>(expression: string): Promise<T>;
  /** As somebody who chooses a file in an `<input>`. */
  chooseFile(selector: string, file: string): Promise<void>;
  /** As a line that takes so many bytes a second; undefined: as fast as it is. */
  limitUpload(bytesPerSecond: number | undefined): Promise<void>;
  /** PNG. */
  screenshot(): Promise<Buffer>;
};

export type Browser = {
  newPage(): Promise<Page>;
  close(): Promise<void>;
};

const START_MS = 30_000;
/** Nothing of the machine's owner, nothing that asks the network by itself, and no sandbox, which a container doesn't allow. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--no-first-run',
  '--remote-debugging-port=0',
];

/** Chromium as one of the children, which writes its profile below their folder. */
export async function openBrowser(children: Children, signal: AbortSignal): Promise<Browser> {
  const { file, env } = await findChromium();
  const profile = join(children.dir, 'chromium-profile');
  const child = await children.start({ name: 'chromium', file, args: [...FLAGS, `--user-data-dir=${profile}`], env });
  const portFile = join(profile, 'DevToolsActivePort');
  await untilReady({ what: 'Chromium', waitMs: START_MS, signal, child }, async () => {
    if (!existsSync(portFile) || !readFileSync(portFile, 'utf8').includes('\n/devtools/')) throw new Error('it does not listen yet');
  });
  const [port, path] = readFileSync(portFile, 'utf8').split('\n');
  const devTools = await connect(`ws://127.0.0.1:${port}${path}`, signal);
  return {
    async newPage() {
      const { targetId } = await devTools.send<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await devTools.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
      return pageOf((method, params) => devTools.send(method, params, sessionId));
    },
    async close() {
      devTools.close();
      await child.stop();
    },
  };
}

type Send = <T>(method: string, params: object) => Promise<T>;

function pageOf(send: Send): Page {
  const rootOf = async (): Promise<number> => (await send<{ root: { nodeId: number } }>('DOM.getDocument', {})).root.nodeId;
  return {
    goTo: async (url) => (await send<{ errorText?: string }>('Page.navigate', { url })).errorText,
    async evaluate<T>(expression: string) {
      type Evaluated = { result: { value: T }; exceptionDetails?: { text: string; exception?: { description?: string } } };
      const evaluated = await send<Evaluated>('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      const { result, exceptionDetails } = evaluated;
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async chooseFile(selector, file) {
      const { nodeId } = await send<{ nodeId: number }>('DOM.querySelector', { nodeId: await rootOf(), selector });
      await send('DOM.setFileInputFiles', { nodeId, files: [file] });
    },
    async limitUpload(bytesPerSecond = -1) {
      await send('Network.enable', {});
      await send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: bytesPerSecond,
      });
    },
    screenshot: async () => Buffer.from((await send<{ data: string }>('Page.captureScreenshot', { format: 'png' })).data, 'base64'),
  };
}

type DevTools = { send<T>(method: string, params: object, sessionId?: string): Promise<T>; close(): void };
type Reply = { readonly id?: number; readonly result?: unknown; readonly error?: { readonly message: string } };

async function connect(url: string, signal: AbortSignal): Promise<DevTools> {
  const socket = new WebSocket(url);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const failAll = (error: unknown): void => waiting.forEach(({ reject }) => reject(error));
  socket.addEventListener('message', ({ data }) => {
    const { id = 0, result, error } = JSON.parse(String(data)) as Reply;
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  socket.addEventListener('close', () => failAll(new Error('the browser has ended')));
  signal.addEventListener('abort', () => failAll(signal.reason), { once: true });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  let count = 0;
  return {
    send<T>(method: string, params: object, sessionId?: string) {
      const reply = Promise.withResolvers<unknown>();
      waiting.set(++count, reply);
      socket.send(JSON.stringify({ id: count, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      return reply.promise as Promise<T>;
    },
    close: () => socket.close(),
  };
}
