import type { Patch } from '../engine/patch-source.ts';
/** A rule of the protocol taken away in the source, and the fault that must come of it. */
export type Rule = {
  /** The row of the design's table of rules, and which part of it. */
  readonly row: string;
  /** What is taken away. */
  readonly without: string;
  readonly patches: readonly Patch[];
  /** A search of searches.ts, in which the fault is found. */
  readonly search: string;
  /** Changes of that search's scope: what no patch of the product can express, since it is a client's or a composition's. */
  readonly size?: Readonly<Record<string, number | boolean>>;
  readonly limits?: Readonly<Record<string, number>>;
  /** Kinds of fault to look for, any of them; shallower ones of other kinds are passed over. */
  readonly faults: readonly string[];
};

/** A clause left out. */
export const without = (file: string, from: string): Patch => ({ file, from, to: '' });
