import type { BrokerLoad } from '../model/broker.ts';

/** What this instance had to do since it was asked last, as a port: runtimes differ in what they can measure. */
export type LoadMeter = { sample(): BrokerLoad };
