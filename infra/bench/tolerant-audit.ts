import { type Audit, createAudit, type Finding } from '../demo/audit.ts';
import type { Flight } from '../demo/flights.ts';

export type TolerantAudit = Audit & {
  /** Its publish was told for sure that it is not stored. */
  refused(flight: Pick<Flight, 'row'>): void;
};

/** What was sent and not acknowledged may be missing; and there it may be only where nobody was told that it isn't. */
export function createTolerantAudit(rows: number): TolerantAudit {
  const audit = createAudit(rows);
  const open = new Set<number>();
  const refused = new Set<number>();
  let stored: Finding | undefined;
  return {
    ...audit,
    sent(flight) {
      open.add(flight.row);
      audit.sent(flight);
    },
    acknowledged(flight, address) {
      open.delete(flight.row);
      audit.acknowledged(flight, address);
    },
    refused({ row }) {
      open.delete(row);
      refused.add(row);
    },
    read(message) {
      const { row } = message.value as Pick<Flight, 'row'>;
      const wasRefused = refused.delete(row);
      // Where it is was told to nobody.
      if (wasRefused || open.delete(row)) audit.acknowledged({ row }, message);
      if (wasRefused) stored = { fault: 'refused', count: (stored?.count ?? 0) + 1, example: `row ${row}` };
      audit.read(message);
    },
    findings() {
      const found = audit.findings().flatMap((finding) => {
        const count = finding.fault === 'lost' ? finding.count - open.size - refused.size : finding.count;
        return count === 0 ? [] : [{ ...finding, count }];
      });
      return stored === undefined ? found : [...found, stored];
    },
  };
}
