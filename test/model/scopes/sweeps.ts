import { UPLOAD_ID_RANDOM, uploadId } from '../../../src/model/ids.ts';
import { SUBMITTING_MS_MAX, SWEPT_BEHIND_MS } from '../../../src/model/upload-limits.ts';
import type { Scope } from '../engine/world.ts';
import { headItem, openHead } from '../processes/broker.ts';
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
        ? [lastSweeper('last', { nowMs: LATE_MS }, (stateOf) => !isUploaded || stateOf('client')['done'] === true)]
        : []),
    ],
    budgets: size,
    check: (itemsOf) => checkUpload(MESSAGE)(itemsOf) ?? (isUploaded ? undefined : checkPayload(itemsOf)),
  };
}

/** What is in the log has its object. */
const checkPayload: NonNullable<Scope['check']> = (itemsOf) => {
  const isStored = itemsOf('h#').some((head) => Number(head['tail']) > 0);
  if (!isStored || itemsOf('o#').length > 0) return undefined;
  return `payload-lost: ${MESSAGE} is stored, and its object is gone`;
};
