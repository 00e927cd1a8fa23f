import { readFileSync } from 'node:fs';
import { ServerResponse } from 'node:http';

// Loaded before the broker (`node --import`): its wall clock is off by as many milliseconds as the file says, now. The monotonic clock
// and timers go on as they are, as on a machine whose clock is set.

const FILE = process.env['KELP_TEST_CLOCK_FILE'] ?? '';
/** The file is read no more often; 0: at each look, so that what goes on after a pause never sees the time before it. */
const KNOWN_MS = Number(process.env['KELP_TEST_CLOCK_KNOWN_MS'] ?? 20);
const SystemDate = globalThis.Date;
let offsetMs = 0;
let readAtMs = -Infinity;

function shiftedMs(): number {
  const nowMs = performance.now();
  if (nowMs - readAtMs >= KNOWN_MS) {
    offsetMs = Number(readFileSync(FILE, 'utf8'));
    readAtMs = nowMs;
  }
  return SystemDate.now() + offsetMs;
}

globalThis.Date = new Proxy(SystemDate, {
  construct: (target, values: [], self) => Reflect.construct(target, values.length === 0 ? [shiftedMs()] : values, self) as Date,
  apply: () => new SystemDate(shiftedMs()).toString(),
  get: (target, name, self) => (name === 'now' ? shiftedMs : (Reflect.get(target, name, self) as unknown)),
});

// Node has taken the system's own `Date` for the header before this module came.
const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function writeHeadShifted(this: ServerResponse, ...values: unknown[]): ServerResponse {
  if (!this.hasHeader('date')) this.setHeader('date', new SystemDate(shiftedMs()).toUTCString());
  return Reflect.apply(writeHead, this, values) as ServerResponse;
};
