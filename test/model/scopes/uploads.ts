import { segmentId, UPLOAD_ID_RANDOM, uploadId } from '../../../src/model/ids.ts';
import { PARTITIONS } from '../../../src/model/limits.ts';
import { SUBMITTING_MS_MAX } from '../../../src/model/upload-limits.ts';
import type { Scope } from '../engine/world.ts';
import { headItem, newHead, openHead, SEGMENT } from '../processes/broker.ts';
import { sealer } from '../processes/sealer.ts';
import { spiller } from '../processes/spiller.ts';
import { submitter, uploadSweeper } from '../processes/submitter.ts';
import { checkUpload } from './check-upload.ts';
import { stagedUpload } from './staged-upload.ts';

type Faults = { readonly unanswered: number; readonly late: number; readonly failures?: number; readonly aborts?: number };

/** In the time of whoever submits, who stands still at its beginning. */
const EXPIRES_MS = 2 * SUBMITTING_MS_MAX;
const CHILD = { segment: segmentId(1), lo: 0, hi: PARTITIONS - 1 };

const UPLOAD = uploadId(EXPIRES_MS, '0'.repeat(UPLOAD_ID_RANDOM));
const MESSAGE = 'm';

export type UploadsSize = Faults & {
  /** Requests without a key, and handlers of one under a key, that submit the same upload. */
  readonly alone: number;
  readonly keyed: number;
  readonly spillers?: number;
  readonly sealers?: number;
  /** Rounds of a sweep that finds the upload due, or only its attempt too old. */
  readonly due?: number;
  readonly stale?: number;
  /** By the first one's clock it is expired. */
  readonly fastClock?: boolean;
};

/** Requests that submit the same upload at the same time, beside sweeps, spills and a seal. */
export function uploads(size: UploadsSize): Scope {
  const birth = openHead();
  const { alone, keyed, sealers = 0, spillers = 0 } = size;
  const submitters = ['A', 'B', 'C'].slice(0, alone + keyed).map((name, index) => {
    return submitter({
      name,
      instance: name.toLowerCase(),
      nowMs: size.fastClock === true && index === 0 ? EXPIRES_MS : 5 - index,
      message: MESSAGE,
      upload: UPLOAD,
      known: [birth],
      keyed: index >= alone,
    });
  });
  const sweeper = (name: string, rounds: number, nowMs: number) => (rounds === 0 ? [] : [uploadSweeper(name, UPLOAD, { rounds, nowMs })]);
  return {
    items: [headItem(birth), stagedUpload(UPLOAD, EXPIRES_MS), ...(sealers === 0 ? [] : [childItem])],
    processes: [
      ...submitters,
      ...sweeper('due', size.due ?? 0, EXPIRES_MS + SUBMITTING_MS_MAX),
      ...sweeper('stale', size.stale ?? 0, SUBMITTING_MS_MAX),
      ...Array.from({ length: spillers }, (_, index) => spiller(`spiller${index + 1}`, 1)),
      ...Array.from({ length: sealers }, (_, index) => sealer(`sealer${index + 1}`, [CHILD])),
    ],
    budgets: size,
    check: checkUpload(MESSAGE),
  };
}

const childItem = headItem(newHead(CHILD.segment, { predecessors: [SEGMENT] }), CHILD.segment);
