import type { MemoryPresigner } from '../../src/adapters/memory/memory-presigner.ts';

/** As a browser sends it, which sets the length by itself. */
export const sendByFetch: MemoryPresigner['send'] = async ({ method, url, headers, body }, signal) => {
  const { 'content-length': _length, ...others } = headers;
  const answer = await fetch(url, { method, headers: others, signal, ...(method === 'PUT' ? { body: body ?? new Uint8Array(0) } : {}) });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: new Uint8Array(await answer.arrayBuffer()) };
};
