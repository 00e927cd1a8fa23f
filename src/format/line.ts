import { KelpError } from '../model/errors.ts';
import type { Line, LineBatch } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item, Value } from '../ports/metadata-table.ts';
import { integerField, listField } from './item-fields.ts';

// A producer's line, in a head's map `p` and in an item of its own. e: epoch, n: next sequence, b: batches as
// [sequence, count, cid, delta], newest last.

const LINE_VERSION = 1;

export function encodeLine(line: Line): Item {
  return { e: line.epoch, n: line.next, b: line.batches.map((batch) => [batch.sequence, batch.count, batch.cid, batch.delta]) };
}

/** The item of a line that is in no head. */
export const encodeLineItem = (line: Line): Item => ({ v: LINE_VERSION, tenant: TENANT_DEFAULT, ...encodeLine(line) });

export function decodeLine(item: Item): Line {
  return { epoch: integerField(item, 'e'), next: integerField(item, 'n'), batches: listField(item, 'b').map(decodeBatch) };
}

function decodeBatch(value: Value): LineBatch {
  const [sequence, count, cid, delta] = Array.isArray(value) ? (value as readonly Value[]) : [];
  if (typeof sequence !== 'number' || typeof count !== 'number' || typeof cid !== 'string' || typeof delta !== 'number') {
    throw new KelpError('corrupt', 'corrupt', 'stored producer batch is damaged');
  }
  return { sequence, count, cid: cid as CommitId, delta };
}
