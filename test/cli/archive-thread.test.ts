import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { startArchiveThread, type Thread } from '../../src/cli/archive-thread.ts';
import { createThreadTelemetry } from '../../src/cli/thread-telemetry.ts';
import { ARCHIVE_RESTART_MS_MAX, ARCHIVE_RESTART_MS_MIN, ARCHIVE_STOP_MS_MAX } from '../../src/model/archive-limits.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

/** A thread that does what the test says. */
class FakeThread extends EventEmitter {
  readonly told: unknown[] = [];
  postMessage(message: unknown): void {
    this.told.push(message);
    this.emit('told', message);
  }
  async terminate(): Promise<number> {
    this.told.push('terminate');
    this.emit('exit', 1);
    return 1;
  }
}

function started() {
  const clock = createVirtualClock();
  const telemetry = createRecordingTelemetry();
  const lines: string[] = [];
  const threads: FakeThread[] = [];
  const atMs: number[] = [];
  const begin = (): Thread => {
    const thread = new FakeThread();
    threads.push(thread);
    atMs.push(clock.monotonicMs());
    return thread as unknown as Thread;
  };
  const archiver = startArchiveThread({ clock, telemetry, write: (line) => void lines.push(line), begin });
  const last = (): FakeThread => threads.at(-1) ?? expect.unreachable('one has begun');
  return { clock, telemetry, lines, threads, atMs, archiver, last };
}

describe('the archiver’s thread', () => {
  test('counts and logs by the process', async () => {
    const { clock, telemetry, lines, last } = started();
    const own = createThreadTelemetry({ clock, post: (message) => last().emit('message', structuredClone(message)) });
    own.count('kelp.archive.files', 2, { kind: 'a' });
    own.record('kelp.store.operation.duration', 0.5);
    own.adjust('kelp.archive.lag.seconds', 7);
    own.log('warn', 'archived', { error: new Error('planted') });
    expect(telemetry.counts).toEqual([{ name: 'kelp.archive.files', value: 2, attributes: { kind: 'a' } }]);
    expect(telemetry.records).toEqual([{ name: 'kelp.store.operation.duration', value: 0.5, attributes: {} }]);
    expect(telemetry.total('kelp.archive.lag.seconds')).toBe(7);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', message: 'archived', error: { message: 'planted' } });
  });

  test('is told where it ends by itself, and begun again, ever more rarely', async () => {
    const { clock, telemetry, threads, atMs, last } = started();
    last().emit('message', { kind: 'adjust', name: 'kelp.archive.lag.seconds', value: 7, attributes: {} });
    for (let crash = 0; crash < 10; crash += 1) {
      last().emit('error', new Error(`planted ${crash}`));
      last().emit('exit', 1);
      await clock.advance(ARCHIVE_RESTART_MS_MAX);
    }
    expect(threads).toHaveLength(11);
    expect(telemetry.total('kelp.archive.crashes')).toBe(10);
    expect(telemetry.logs[0]).toMatchObject({
      level: 'error',
      fields: { error: { message: 'planted 0' }, waitMs: ARCHIVE_RESTART_MS_MIN },
    });
    expect(telemetry.logs.map(({ fields }) => fields['waitMs'])).toEqual(
      [1, 2, 4, 8, 16, 32, 60, 60, 60, 60].map((seconds) => 1_000 * seconds),
    );
    expect(atMs[1]).toBe(ARCHIVE_RESTART_MS_MIN);
    // What it had is no more.
    expect(telemetry.total('kelp.archive.lag.seconds')).toBe(0);
    // One that has worked for long begins again as the first one.
    await clock.advance(ARCHIVE_RESTART_MS_MAX + 1);
    last().emit('exit', 0);
    await clock.advance(0);
    expect(telemetry.logs.at(-1)?.fields['waitMs']).toBe(ARCHIVE_RESTART_MS_MIN);
  });

  test('ends when it is told to', async () => {
    const { clock, telemetry, threads, archiver, last } = started();
    last().on('told', () => last().emit('exit', 0));
    await archiver.stop();
    expect(last().told).toEqual(['stop']);
    await clock.advance(10 * ARCHIVE_RESTART_MS_MAX);
    expect([threads.length, telemetry.logs]).toEqual([1, []]);
  });

  test('is ended where it does not', async () => {
    const { clock, archiver, last } = started();
    const stopped = archiver.stop();
    await clock.advance(ARCHIVE_STOP_MS_MAX);
    await stopped;
    expect(last().told).toEqual(['stop', 'terminate']);
  });

  test('is not begun again while the process stops', async () => {
    const { clock, threads, archiver, last } = started();
    last().emit('exit', 1);
    const stopped = archiver.stop();
    await clock.advance(ARCHIVE_RESTART_MS_MAX);
    await stopped;
    expect(threads).toHaveLength(1);
  });
});
