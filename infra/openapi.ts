import { readFileSync, writeFileSync } from 'node:fs';
import { openApiDocument } from './openapi-document.ts';

// Writes openapi.json from the route table and the schemas; with --check only says whether it is up to date.

const FILE = new URL('../openapi.json', import.meta.url);
const text = `${JSON.stringify(openApiDocument(), null, 2)}\n`;

if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
  console.log('openapi.json written');
} else if (readFileSync(FILE, 'utf8') !== text) {
  console.error('openapi.json is not what the routes and schemas say: npm run openapi');
  process.exitCode = 1;
}
