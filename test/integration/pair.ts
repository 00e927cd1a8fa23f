import { sendEvent } from '../http/function-events.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { buildFunctions } from './built-functions.ts';
import type { Send } from './http-scenario.ts';
import { ROOT_TOKEN, runServe } from './run-serve.ts';
import { sendTo } from './send-to.ts';

// Two of a kind on the same stores, that know nothing of each other.

const EVENTS = { accept: 'text/event-stream' };

/** Two instances, each with everything. `events`: the first ones of a stream of the first instance. */
export type Pair = { readonly sends: readonly [Send, Send]; events(path: string): Promise<string>; stop(): Promise<void> };

/** Of brokers, each a process. */
export async function pairOfProcesses(signal: AbortSignal): Promise<Pair> {
  const stores = { store: sharedStack().store, table: await freshTable('dynoxide', signal) };
  const served = await Promise.all([runServe(stores), runServe(stores)]);
  return {
    sends: [sendTo(served[0]), sendTo(served[1])],
    async events(path) {
      const answer = await fetch(`${served[0].url}${path}`, { headers: { ...EVENTS, authorization: `Bearer ${ROOT_TOKEN}` } });
      let text = '';
      for await (const chunk of answer.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (/^data: .*\n\n/m.test(text)) break;
      }
      return text;
    },
    async stop() {
      for (const one of served) {
        one.signal('SIGTERM');
        await one.exited;
      }
    },
  };
}

/** Of instances of each function. */
export async function pairOfFunctions(signal: AbortSignal): Promise<Pair> {
  const built = await buildFunctions();
  const table = await freshTable('ministack', signal);
  const instance = async (): Promise<Send> => {
    const handler = await built.api(sharedStack().store, table);
    return (method, path, sending) => sendEvent(handler, method, path, { token: ROOT_TOKEN, ...sending });
  };
  const sends = [await instance(), await instance()] as const;
  // Where nothing streams, the answer ends with the first ones.
  const events = async (path: string): Promise<string> => (await sends[0]('GET', path, { headers: EVENTS })).text;
  return { sends, events, stop: async () => built.remove() };
}
