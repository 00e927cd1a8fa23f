import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Clock } from '../../ports/clock.ts';
import type { Attributes, Telemetry } from '../../ports/telemetry.ts';
import { logLine } from './log-line.ts';
import { counterName, histogramForm, underscored } from './metric-name.ts';

export type PrometheusTelemetry = Telemetry & {
  readonly contentType: string;
  /** All metrics in the exporter's text form. */
  expose(): Promise<string>;
};

export type TelemetryOptions = {
  readonly clock: Clock;
  /** Takes one log line, without a line break. */
  readonly write: (line: string) => void;
};

/** A metric with the labels of its first use: the exporter wants them fixed. What comes later is left out, and told once. */
type Labelled<M> = { readonly metric: M; readonly labels: ReadonlySet<string> };

/** Counts and measures for a Prometheus scraper; logs as lines of JSON. */
export function createPrometheusTelemetry({ clock, write }: TelemetryOptions): PrometheusTelemetry {
  const registry = new Registry();
  // Memory, CPU and event loop of the process, read when somebody asks.
  collectDefaultMetrics({ register: registry });
  const counters = new Map<string, Labelled<Counter>>();
  const gauges = new Map<string, Labelled<Gauge>>();
  const histograms = new Map<string, Labelled<Histogram>>();
  const told = new Set<string>();

  function labelsOf(name: string, known: ReadonlySet<string>, attributes: Attributes): Record<string, string> {
    const labels: Record<string, string> = {};
    for (const [attribute, value] of Object.entries(attributes)) {
      const label = underscored(attribute);
      if (known.has(label)) labels[label] = value;
      else tellOnce(`${name} ${attribute}`);
    }
    return labels;
  }

  function tellOnce(attribute: string): void {
    if (told.has(attribute)) return;
    told.add(attribute);
    log('error', 'a metric was made without this attribute', { attribute });
  }

  function log(level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    write(logLine({ timeMs: clock.nowMs(), level, message, fields }));
  }

  return {
    contentType: registry.contentType,
    expose: () => registry.metrics(),
    log,
    count(name, value, attributes = {}) {
      const { metric, labels } = foundOr(counters, name, () => makeCounter(registry, name, attributes));
      metric.inc(labelsOf(name, labels, attributes), value);
    },
    adjust(name, delta, attributes = {}) {
      const { metric, labels } = foundOr(gauges, name, () => makeGauge(registry, name, attributes));
      metric.inc(labelsOf(name, labels, attributes), delta);
    },
    record(name, value, attributes = {}) {
      const { metric, labels } = foundOr(histograms, name, () => makeHistogram(registry, name, attributes));
      metric.observe(labelsOf(name, labels, attributes), value);
    },
  };
}

function foundOr<M>(metrics: Map<string, M>, name: string, make: () => M): M {
  const metric = metrics.get(name) ?? make();
  metrics.set(name, metric);
  return metric;
}

function makeCounter(registry: Registry, name: string, attributes: Attributes): Labelled<Counter> {
  const labels = Object.keys(attributes).map(underscored);
  const metric = new Counter({ name: counterName(name), help: name, labelNames: labels, registers: [registry] });
  return { metric, labels: new Set(labels) };
}

function makeGauge(registry: Registry, name: string, attributes: Attributes): Labelled<Gauge> {
  const labels = Object.keys(attributes).map(underscored);
  const metric = new Gauge({ name: underscored(name), help: name, labelNames: labels, registers: [registry] });
  return { metric, labels: new Set(labels) };
}

function makeHistogram(registry: Registry, name: string, attributes: Attributes): Labelled<Histogram> {
  const labels = Object.keys(attributes).map(underscored);
  const { name: exporterName, buckets } = histogramForm(name);
  const metric = new Histogram({ name: exporterName, help: name, labelNames: labels, buckets: [...buckets], registers: [registry] });
  return { metric, labels: new Set(labels) };
}
