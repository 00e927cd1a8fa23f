import type { BrokerLoad } from '../../model/broker.ts';
import { BUSY_PERCENT_TARGET } from '../../model/limits.ts';

/** How many processes the load of these would need, each as busy as it is meant to be: at least one, if there is any. */
export function brokersDesired(loads: readonly BrokerLoad[]): number {
  if (loads.length === 0) return 0;
  const busyPercent = loads.reduce((sum, load) => sum + load.busyPercent, 0);
  return Math.max(1, Math.ceil(busyPercent / BUSY_PERCENT_TARGET));
}
