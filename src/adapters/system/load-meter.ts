import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { BrokerLoad } from '../../model/broker.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LoadMeter } from '../../ports/load-meter.ts';
import type { Attributes, Telemetry } from '../../ports/telemetry.ts';

export type MeteredTelemetry = {
  /** For everybody in place of the given one. */
  readonly telemetry: Telemetry;
  readonly meter: LoadMeter;
};

/** A timer of this period is watched; what it comes later than that is delay. */
const DELAY_RESOLUTION_MS = 20;
const NS_PER_MS = 1_000_000;

type Sums = { bytes: number; messages: number; commits: number; commitSeconds: number };

/** Takes the load from what is counted anyway, and from the runtime. Each sample is of the time since the one before. */
export function createLoadMeter(deps: { readonly clock: Clock; readonly telemetry: Telemetry }): MeteredTelemetry {
  const { clock, telemetry } = deps;
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  let requests = 0;
  let sums = noSums();
  let sinceMs = clock.monotonicMs();
  let utilization = performance.eventLoopUtilization();

  function sample(): BrokerLoad {
    const nowMs = clock.monotonicMs();
    const seconds = Math.max(nowMs - sinceMs, 1) / 1_000;
    const busy = performance.eventLoopUtilization(utilization).utilization;
    const load: BrokerLoad = {
      requests,
      bytesPerSecond: Math.round(sums.bytes / seconds),
      messagesPerSecond: Math.round(sums.messages / seconds),
      commitMs: sums.commits === 0 ? 0 : Math.round((sums.commitSeconds * 1_000) / sums.commits),
      eventLoopDelayMs: Math.max(0, Math.round(delay.percentile(99) / NS_PER_MS) - DELAY_RESOLUTION_MS),
      busyPercent: Math.min(100, Math.round(busy * 100)),
      memoryBytes: process.memoryUsage.rss(),
    };
    sums = noSums();
    sinceMs = nowMs;
    utilization = performance.eventLoopUtilization();
    delay.reset();
    return load;
  }

  return {
    meter: { sample },
    telemetry: {
      log: telemetry.log,
      count(name, value, attributes) {
        if (name === 'kelp.store.io' && attributes?.['direction'] === 'write') sums.bytes += value;
        else if (name === 'kelp.publish.messages') sums.messages += value;
        telemetry.count(name, value, attributes);
      },
      adjust(name, delta, attributes) {
        if (name === 'http.server.active_requests') requests += delta;
        telemetry.adjust(name, delta, attributes);
      },
      record(name, value, attributes) {
        if (isCommit(name, attributes)) {
          sums.commits += 1;
          sums.commitSeconds += value;
        }
        telemetry.record(name, value, attributes);
      },
    },
  };
}

const noSums = (): Sums => ({ bytes: 0, messages: 0, commits: 0, commitSeconds: 0 });

/** Nearly all updates that are applied are commits; the others take as long. */
function isCommit(name: string, attributes: Attributes | undefined): boolean {
  return name === 'kelp.table.operation.duration' && attributes?.['operation'] === 'update' && attributes['outcome'] === 'ok';
}
