import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteBucketCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { makeBucket } from '../../../infra/local/make-bucket.ts';
import { type Children, createChildren } from '../../../infra/local/processes.ts';
import { createLeanStore } from '../../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../../src/adapters/s3/presigner.ts';
import { createSdkClient } from '../../../src/adapters/s3/sdk-client.ts';
import type { StoreSettings } from '../../../src/adapters/s3/store-settings.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { freshTable, sharedStack } from '../../stack.ts';
import { callerOf, runServe, type Served } from '../run-serve.ts';
import { type Browser, openBrowser, type Page } from './open-browser.ts';
import { type PageServer, startPageServer } from './page-server.ts';

// A web page that uploads past its own server and past the broker, in Chromium, to SeaweedFS, which is another origin.

const START_MS = 120_000;
const SHOWN_MS = 30_000;
const MIB = 1_048_576;
const { signal } = new AbortController();
const clock = createSystemClock();
const topic = `t${randomBytes(8).toString('hex')}`;

let dir: string;
let children: Children;
let served: Served;
let server: PageServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kelp-test-'));
  children = createChildren(dir);
  const table = await freshTable('dynoxide', AbortSignal.timeout(START_MS));
  [served, browser] = await Promise.all([
    runServe({ store: sharedStack().store, table }),
    openBrowser(children, AbortSignal.timeout(START_MS)),
  ]);
  const call = callerOf(served);
  await call('PUT', `/v1/topics/${topic}`, { partitionKey: 'key' });
  server = await startPageServer(call, topic);
  page = await browser.newPage();
}, START_MS);
afterAll(async () => {
  await browser.close();
  await server.stop();
  served.signal('SIGTERM');
  await served.exited;
  await children.stopAll();
  rmSync(dir, { recursive: true, force: true });
});

async function removeBucket(settings: StoreSettings): Promise<void> {
  const client = createSdkClient(settings);
  await client.send(new DeleteObjectCommand({ Bucket: settings.bucket, Key: 'uploads/t/u' }));
  await client.send(new DeleteBucketCommand({ Bucket: settings.bucket }));
}

const open = async (): Promise<void> => {
  expect(await page.goTo(server.origin)).toBeUndefined();
  await untilShown('document.readyState', 'complete');
};
const untilShown = (expression: string, what: unknown): Promise<void> =>
  expect.poll(() => page.evaluate(expression), { timeout: SHOWN_MS }).toEqual(what);
const said = `document.querySelector('output').textContent`;
const storedUrl = (): Promise<string> => page.evaluate(`document.querySelector('a').href`);

async function choose(name: string, bytes: Buffer): Promise<void> {
  const file = join(dir, name);
  writeFileSync(file, bytes);
  await page.chooseFile('input', file);
}

async function sendFile(name: string, bytes: Buffer): Promise<void> {
  await choose(name, bytes);
  await page.evaluate(`document.querySelector('button').click()`);
}

test('a file goes to the store, the bar says how far, and what is stored is what was chosen', async () => {
  await open();
  const bytes = randomBytes(4 * MIB);
  await page.limitUpload(4 * MIB);
  await sendFile('picture.png', bytes);
  await untilShown(said, `stored: ${bytes.length} bytes`);
  await page.limitUpload(undefined);
  const progressed = await page.evaluate<[number, number][]>('progressed');
  const loaded = progressed.map(([many]) => many);
  expect(loaded.toSorted((a, b) => a - b)).toEqual(loaded);
  expect(loaded.filter((many) => many > 0 && many < bytes.length).length).toBeGreaterThan(1);
  expect(progressed.at(-1)).toEqual([bytes.length, bytes.length]);
  const picture = process.env['KELP_TEST_SCREENSHOT'];
  if (picture !== undefined) writeFileSync(picture, await page.screenshot());
  expect(Buffer.from(await (await fetch(await storedUrl())).arrayBuffer()).equals(bytes)).toBe(true);
  // The page may read it, too.
  expect(await page.evaluate(`fetch(document.querySelector('a').href).then((answer) => answer.blob()).then((blob) => blob.size)`)).toBe(
    bytes.length,
  );
});

test('an empty file is one, too', async () => {
  await open();
  await sendFile('empty.txt', Buffer.alloc(0));
  await untilShown(said, 'stored: 0 bytes');
});

test('A11 a page that was uploaded is not shown, and none of it runs', async () => {
  await open();
  await sendFile('page.html', Buffer.from('<!doctype html><title>ran</title><script>document.title = "ran"</script>'));
  await untilShown(said, 'stored: 72 bytes');
  const url = await storedUrl();
  expect(await page.goTo(url)).toBe('net::ERR_ABORTED');
  expect(await page.evaluate('[document.title, location.origin]')).toEqual(['Upload', server.origin]);
});

test('pages of other origins than those that were named can send nothing; ranges can be read by those that were', async () => {
  await open();
  const settings = { ...sharedStack().store, bucket: 'kelp-pages' };
  const presigner = createPresigner({ ...settings, clock });
  const content = { bytes: 5, sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', contentType: 'text/plain' };
  const { 'content-length': _length, ...headers } = presigner.put('uploads/t/u', content, 60_000).headers;
  const { url } = presigner.put('uploads/t/u', content, 60_000);
  const put = `fetch(${JSON.stringify(url)}, ${JSON.stringify({ method: 'PUT', headers, body: 'hello' })})`;
  const status = `${put}.then((answer) => answer.status, (error) => error.name)`;

  await makeBucket(settings, ['https://app.example.org'], signal);
  onTestFinished(() => removeBucket(settings));
  expect(await page.evaluate(status)).toBe('TypeError');
  expect(await createLeanStore({ ...settings, clock }).head('uploads/t/u', signal)).toBeUndefined();

  await makeBucket(settings, [server.origin], signal);
  expect(await page.evaluate(status)).toBe(200);
  expect(await page.evaluate(status)).toBe(412);
  const range = presigner.get('uploads/t/u', 60_000, { start: 1, bytes: 3 });
  const get = `fetch(${JSON.stringify(range.url)}, ${JSON.stringify({ headers: range.headers })})`;
  const read = `${get}.then(async (answer) => [answer.status, answer.headers.get('content-range'), await answer.text()])`;
  expect(await page.evaluate(read)).toEqual([206, 'bytes 1-3/5', 'ell']);
  expect(await page.evaluate(`fetch(${JSON.stringify(range.url)}).then(({ status }) => status)`)).toBe(403);
});
