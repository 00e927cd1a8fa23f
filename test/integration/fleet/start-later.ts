import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

// Loaded before the broker (`node --import`): all modules are loaded, and it begins once a file is there. A broker that is killed can so be
// back at once, however slowly processes start here.

const POLL_MS = 2;
const file = process.env['KELP_TEST_START_FILE'] ?? '';

await import('../../../src/cli/broker.ts');
writeFileSync(`${file}.ready`, '');
while (!existsSync(file)) await sleep(POLL_MS);
