import { parentPort } from 'node:worker_threads';
import { createLeanStore } from '../adapters/s3/lean-store.ts';
import { createServiceClock } from '../adapters/signed-http/service-clock.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { createSystemRandom } from '../adapters/system/random.ts';
import { archiveRegularly } from '../broker/archive-regularly.ts';
import { assembleArchiver } from './assemble-archiver.ts';
import { readConfiguration } from './configuration.ts';
import { openTable } from './open-table.ts';
import { createThreadTelemetry } from './thread-telemetry.ts';

// The archiver of a broker's process, in a thread of its own, since a row group is encoded without a pause. It has clients of its own as
// well, and the process' environment; any message from the process ends it.
const port = parentPort;
if (port === null) throw new Error('it is started by archive-thread.ts, as a thread');
const configuration = readConfiguration(process.env);
const clock = createSystemClock();
const telemetry = createThreadTelemetry({ clock, post: (message) => port.postMessage(message) });
const random = createSystemRandom();
const archiver = assembleArchiver(configuration, {
  table: await openTable(configuration.table, clock),
  store: createLeanStore({ ...configuration.store, clock, serviceClock: createServiceClock(clock) }),
  clock,
  random,
  telemetry,
});
const life = new AbortController();
port.once('message', () => life.abort());
await archiveRegularly({ ...archiver, clock, random, telemetry, everyMs: configuration.archiveMs }, life.signal);
// Its kept connections would hold it.
process.exit();
