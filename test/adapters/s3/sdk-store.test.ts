import { afterEach, expect, test, vi } from 'vitest';
import { createSdkStore } from '../../../src/adapters/s3/sdk-store.ts';
import { answer, resetConnection, startStub, type Treatment } from '../../conformance/stub-server.ts';

const part = new TextEncoder().encode('part');

afterEach(() => void vi.restoreAllMocks());

test.for<[string, Treatment]>([
  ['refused', answer(503, '<Error><Code>SlowDown</Code></Error>')],
  ['cut', resetConnection],
])('a put that is %s says so by its error, and writes nothing to the console', async ([, treat]) => {
  const written: unknown[] = [];
  const note = (...values: unknown[]): void => void written.push(values);
  for (const level of ['trace', 'debug', 'info', 'log', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(note);
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockImplementation((text) => (note(text), true));
  const stub = await startStub(treat);
  const store = createSdkStore({ endpoint: stub.endpoint, region: 'us-east-1', accessKey: 'access', secretKey: 'secret', bucket: 'kelp' });
  // One part goes as bytes, several as a stream, which the SDK has words for.
  for (const body of [[part], [part, part]]) {
    await expect(store.put('a/b', body, new AbortController().signal)).rejects.toMatchObject({ name: 'KelpError' });
  }
  await stub.stop();
  expect(stub.requests).toHaveLength(2);
  expect(written).toEqual([]);
});
