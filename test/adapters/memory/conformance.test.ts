import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { describeMetadataTable } from '../../conformance/metadata-table.ts';
import { describeObjectStore } from '../../conformance/object-store.ts';

describeMetadataTable('memory', async () => createMemoryTable());
describeObjectStore('memory', async () => ({ store: createMemoryStore(), prefix: 'p' }));
