import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { describeMetadataTable } from '../../conformance/metadata-table.ts';

describeMetadataTable('memory table', async () => createMemoryTable());
