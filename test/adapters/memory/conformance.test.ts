import { createMemoryPresigner } from '../../../src/adapters/memory/memory-presigner.ts';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import type { Presigner } from '../../../src/ports/presigner.ts';
import { describeMetadataTable } from '../../conformance/metadata-table.ts';
import { describeObjectStore } from '../../conformance/object-store.ts';
import { describePresigner } from '../../conformance/presigner.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

describeMetadataTable('memory', async () => createMemoryTable());
describeObjectStore('memory', async () => ({ store: createMemoryStore(), prefix: 'p' }));
describePresigner('memory', async () => {
  const store = createMemoryStore();
  const virtual = createVirtualClock();
  let offMs = 0;
  const presigner = createMemoryPresigner({ store, clock: { ...virtual, nowMs: () => virtual.nowMs() + offMs } });
  const off = <R>(ms: number, make: () => R): R => {
    offMs = ms;
    const made = make();
    offMs = 0;
    return made;
  };
  const presignerOff = (ms: number): Presigner => ({
    put: (...args) => off(ms, () => presigner.put(...args)),
    get: (...args) => off(ms, () => presigner.get(...args)),
  });
  return { store, presigner, presignerOff, send: presigner.send, prefix: 'p' };
});
