import type { BrokerRecord } from '../../model/broker.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { brokersDesired } from './desired.ts';

/** `kelp.brokers.desired`, for whoever scales processes: told by the leader alone, so the sum over all brokers is the number. */
export type DesiredGauge = {
  /** What the leader has read. */
  show(brokers: readonly BrokerRecord[]): void;
  /** It leads no more. */
  clear(): void;
};

export function createDesiredGauge({ telemetry }: { readonly telemetry: Telemetry }): DesiredGauge {
  let shown = 0;
  const set = (desired: number): void => {
    telemetry.adjust('kelp.brokers.desired', desired - shown);
    shown = desired;
  };
  return {
    show: (brokers) => set(brokersDesired(brokers.filter((broker) => broker.kind === 'process').map((broker) => broker.load))),
    clear: () => set(0),
  };
}
