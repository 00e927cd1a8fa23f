import { UPLOAD_ID_RANDOM, uploadId } from '../../../src/model/ids.ts';
import { SUBMITTING_MS_MAX, SWEPT_BEHIND_MS } from '../../../src/model/upload-limits.ts';
import type { Scope } from '../engine/world.ts';
import { headItem, openHead } from '../processes/broker.ts';
import { archiver, dropper } from '../processes/archiver.ts';
import { oldCollector } from '../processes/collector.ts';
import { spiller } from '../processes/spiller.ts';
import { submitter } from '../processes/submitter.ts';
import { lastSweeper, objectItem, topicSweeper, uploader } from '../processes/sweeper.ts';
import { checkUpload } from './check-upload.ts';
import { stagedUpload } from './staged-upload.ts';

type Faults = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

/** In the time of whoever submits, who stands still at its beginning. */
const EXPIRES_MS = 2 * SUBMITTING_MS_MAX;
/** So late that what is settled is marked as that. */
const LATE_MS = EXPIRES_MS + SWEPT_BEHIND_MS;
const UPLOAD = uploadId(EXPIRES_MS, '0'.repeat(UPLOAD_ID_RANDOM));
const MESSAGE = 'm';

export type SweepsSize = Faults & {
  /** Requests that submit the upload. */
  readonly submitters: number;
  /** Sweeps at the same time, by clocks at which the upload is due. */
  readonly sweepers: number;
  readonly spillers?: number;
  /** The upload's object is put at any time, so perhaps after the upload went; else it is there. */
  readonly uploaded?: boolean;
  /** Two more sweeps, wherever the others were stopped by then, and a look at what is left. */
  readonly last?: boolean;
};

/** An upload that is due, its object, and whoever submits, sweeps or still sends it. */
export function sweeps(size: SweepsSize): Scope {
  const birth = openHead();
  const isUploaded = size.uploaded === true;
  return {
    items: [headItem(birth), stagedUpload(UPLOAD, EXPIRES_MS), ...(isUploaded ? [] : [objectItem(UPLOAD)])],
    processes: [
      ...['A', 'B'].slice(0, size.submitters).map((name, index) =>
        submitter({
          name,
          instance: name.toLowerCase(),
          nowMs: 5 - index,
          message: MESSAGE,
          upload: UPLOAD,
          known: [birth],
          keyed: false,
        }),
      ),
      ...['S', 'T'].slice(0, size.sweepers).map((name) => topicSweeper(name, { rounds: 1, nowMs: LATE_MS })),
      ...Array.from({ length: size.spillers ?? 0 }, (_, index) => spiller(`spiller${index + 1}`, 1)),
      ...(isUploaded ? [uploader('client', UPLOAD)] : []),
      ...(size.last === true
        ? [lastSweeper('last', { nowMs: LATE_MS, isCalm: false }, (stateOf) => !isUploaded || stateOf('client')['done'] === true)]
        : []),
    ],
    budgets: size,
    check: (itemsOf) => checkUpload(MESSAGE)(itemsOf) ?? (isUploaded ? undefined : checkPayload(itemsOf)),
  };
}

export type ArchivedUploadsSize = Faults & {
  readonly archivers: number;
  readonly droppers: number;
  /** Sweeps of pages that were archived or dropped, and of uploads. */
  readonly collectors: number;
  readonly sweepers: number;
};

/** An upload whose message leaves the index, wherever whoever submitted it was stopped. */
export function archivedUploads(size: ArchivedUploadsSize): Scope {
  const birth = openHead();
  const submission = { name: 'A', instance: 'a', nowMs: 5, message: MESSAGE, upload: UPLOAD, known: [birth], keyed: false };
  const settling = { nowMs: LATE_MS, uploads: true };
  return {
    items: [headItem(birth), stagedUpload(UPLOAD, EXPIRES_MS), objectItem(UPLOAD)],
    processes: [
      submitter(submission),
      ...Array.from({ length: size.archivers }, (_, n) => {
        return archiver(`archiver${n + 1}`, { ...settling, rounds: 1, fileBytesMax: 1, objects: 'named' });
      }),
      ...Array.from({ length: size.droppers }, (_, n) => dropper(`dropper${n + 1}`, { ...settling, to: 1 })),
      ...Array.from({ length: size.collectors }, (_, n) => oldCollector(`collector${n + 1}`, { all: false })),
      ...['S', 'T'].slice(0, size.sweepers).map((name) => topicSweeper(name, { rounds: 1, nowMs: LATE_MS })),
      lastSweeper('last', { nowMs: LATE_MS, isCalm: size.unanswered === 0 }, (stateOf) => stateOf('collector1')['done'] === true),
    ],
    budgets: size,
    check: (itemsOf) => checkUpload(MESSAGE)(itemsOf) ?? checkPayload(itemsOf),
  };
}

/** What is in the log has its object. */
const checkPayload: NonNullable<Scope['check']> = (itemsOf) => {
  const isStored = itemsOf('h#').some((head) => Number(head['tail']) > 0);
  if (!isStored || itemsOf('o#').some(({ sk }) => String(sk).startsWith('uploads/'))) return undefined;
  return `payload-lost: ${MESSAGE} is stored, and its object is gone`;
};
