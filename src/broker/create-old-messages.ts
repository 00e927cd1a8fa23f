import { createOldMessages, type OldMessages } from '../archive/old-messages.ts';
import type { Consumer } from '../consume/page.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { settleSubmitting } from '../reference/settle-submitting.ts';
import type { Heads } from '../state/heads.ts';
import type { Archives } from '../state/known-archives.ts';

export type OldMessagesPorts = {
  readonly table: MetadataTable;
  readonly heads: Heads;
  readonly archives: Archives;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
};

/** Beside a consumer, which says where a time begins. */
export const oldMessagesOf = (ports: OldMessagesPorts, { offsetAt }: Pick<Consumer, 'offsetAt'>): OldMessages =>
  createOldMessages({
    ...ports,
    offsetAt,
    settleSubmitting: (topic, upTo, signal) => settleSubmitting(ports, topic.id, upTo, signal),
  });
