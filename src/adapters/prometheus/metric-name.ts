/** A dotted name in the exporter's form: `kelp.store.io` as a counter is `kelp_store_io_total`. */
export function counterName(name: string): string {
  return `${underscored(name)}_total`;
}

export type HistogramForm = { readonly name: string; readonly unit: 'seconds' | 'bytes'; readonly buckets: readonly number[] };

/** From 1 ms, below which nothing here is worth telling apart, to the longest deadline. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From a small message to the largest request, by four. */
const BYTES = [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** By its last part a name says what it measures: `.duration` seconds, everything else bytes. */
export function histogramForm(name: string): HistogramForm {
  if (name.endsWith('.duration')) return { name: `${underscored(name)}_seconds`, unit: 'seconds', buckets: SECONDS };
  return { name: `${underscored(name)}_bytes`, unit: 'bytes', buckets: BYTES };
}

/** Attributes become labels, whose names have the same alphabet. */
export function underscored(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_');
}
