import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dateOf } from '../../src/model/archived-file.ts';
import { formatCommitId } from '../../src/protocol/commit-id.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { encodeEntryBody } from '../../src/format/entry.ts';
import { headKey } from '../../src/format/item-key.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { calm, message } from '../consume/fixture.ts';
import { type ArchiveWorld, createArchiveWorld } from './archive-world.ts';

// Where a date is local time somewhere, it is wrong in Berlin, twice a year by another hour (J-34).

let zone: string | undefined;
beforeAll(() => {
  zone = process.env['TZ'];
  process.env['TZ'] = 'Europe/Berlin';
});
afterAll(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

/** Appends a message as by a broker whose clock says this; its own timestamp is another matter. */
async function commitAt({ log }: ArchiveWorld, segment: SegmentId, timeMs: number, timestampMs: number): Promise<void> {
  const [appended] = await log.append({ segment, batches: [[message('x', { timestampMs })]] });
  const entry = appended?.head.entries.at(-1) ?? expect.unreachable('it was appended');
  const cid = formatCommitId(timeMs, 'berlin00', entry.offset);
  const change = {
    condition: [],
    changes: [
      { op: 'remove', path: ['c', entry.cid] },
      { op: 'remove', path: ['m', entry.cid] },
      { op: 'set', path: ['c', cid], value: entry.offset },
      { op: 'set', path: ['m', cid], value: encodeEntryBody(entry) },
    ],
  } as const;
  decodeHead((await log.table.update(headKey(log.topic.id, segment), change, calm())).item ?? {});
}

describe('in Berlin', () => {
  test('the clock is not that of UTC', () => {
    expect(new Date(Date.UTC(2026, 6, 1)).getTimezoneOffset()).toBe(-120);
    expect(dateOf(Date.UTC(2026, 6, 1, 23, 59, 59, 999))).toBe('2026-07-01');
  });

  test('messages lie under the UTC date of their commit, whatever their own timestamp is, and whichever broker’s clock is behind', async () => {
    const world = await createArchiveWorld();
    const segment = await world.log.make({ lo: 0, hi: 65_535 });
    const commits = [
      // Half past two, twice.
      ['2026-03-28T23:59:59.999Z', 0],
      ['2026-03-29T01:30:00.000Z', 253_402_300_799_999],
      ['2026-10-25T00:30:00.000Z', 0],
      ['2026-10-25T01:30:00.000Z', Date.UTC(2026, 9, 24)],
      ['2026-10-25T22:30:00.000Z', 0],
      ['2026-10-25T23:59:59.999Z', 0],
      ['2026-10-26T00:00:00.000Z', 0],
      // By a clock that is a minute behind: no time before that of the message in front of it.
      ['2026-10-25T23:59:00.000Z', 0],
      ['2026-10-26T08:00:00.000Z', 0],
    ] as const;
    for (const [time, timestampMs] of commits) await commitAt(world, segment, Date.parse(time), timestampMs);
    await world.log.seal(segment);
    expect(await world.archive(segment)).toBe('idle');
    expect((await world.state(segment)).records.map(({ date, first, last }) => [date, first, last])).toEqual([
      ['2026-03-28', 0, 0],
      ['2026-03-29', 1, 1],
      ['2026-10-25', 2, 5],
      ['2026-10-26', 6, 8],
    ]);
    expect((await world.files()).map((key) => /kelp_date=([^/]+)/.exec(key)?.[1])).toEqual([
      '2026-03-28',
      '2026-03-29',
      '2026-10-25',
      '2026-10-26',
    ]);
    const rows = await world.archived(segment);
    expect(rows.map(({ timestampMs }) => timestampMs)).toEqual(commits.map(([, timestampMs]) => timestampMs));
    expect(rows.slice(6).map(({ committedMs }) => new Date(committedMs).toISOString())).toEqual([
      '2026-10-26T00:00:00.000Z',
      '2026-10-26T00:00:00.000Z',
      '2026-10-26T08:00:00.000Z',
    ]);
  });
});
