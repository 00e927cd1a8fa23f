import { setImmediate } from 'node:timers/promises';

// One instance of a function, as its platform runs it: events come from outside, each with an end by the wall clock.

type Handler = (event: unknown, context: { getRemainingTimeInMillis(): number }) => Promise<unknown>;
type Invocation = { readonly id: number; readonly event: unknown; readonly leftMs: number };

/** Pipes to whoever has started this process. */
const OUTER = 'PipeWrap';

const { handler } = (await import(process.env['KELP_TEST_BUNDLE'] ?? '')) as { handler: Handler };

process.on('message', (invocation: Invocation) => void invoke(invocation));
process.send?.({ id: 0 });

async function invoke({ id, event, leftMs }: Invocation): Promise<void> {
  const endsMs = Date.now() + leftMs;
  const beganMs = performance.now();
  const outcome = await handler(event, { getRemainingTimeInMillis: () => endsMs - Date.now() }).then(
    (result) => ({ result }),
    (error: unknown) => ({ error: { code: (error as { code?: unknown }).code, message: String(error) } }),
  );
  const ms = performance.now() - beganMs;
  // Connections of requests that were given up close at the end of this turn.
  await setImmediate();
  await setImmediate();
  // Whatever would keep the process alive: requests under way, and timers that somebody waits for.
  const pending = process.getActiveResourcesInfo().filter((resource) => resource !== OUTER);
  process.send?.({ id, ...outcome, ms, pending });
}
