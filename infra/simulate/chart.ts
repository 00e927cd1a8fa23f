import { PARTITIONS } from '../../src/model/limits.ts';
import type { Instant } from './run-trace.ts';

const COLUMNS = 240;
const COLUMN_WIDTH = 4;
const PANEL_HEIGHT = 320;
const MARGIN = 44;
const HOT_HEIGHT_MIN = 2;
const LABEL_EVERY = COLUMNS / 8;

/** Loads of segments by column of time; kept small, since a day has many seconds. */
export type ChartPanel = { readonly title: string; watch(instant: Instant): void; boxes(): readonly Box[] };
type Box = {
  readonly lo: number;
  readonly hi: number;
  readonly from: number;
  until: number;
  readonly load: number;
  readonly shade: string;
};

/**
 * Segments as boxes over time and partitions. A column shows the segments of its last second, in the shade of the load that
 * each carried then.
 */
export function createPanel(title: string, seconds: number): ChartPanel {
  const columns: (Instant['segments'] | undefined)[] = Array.from({ length: COLUMNS });
  return {
    title,
    watch({ second, segments }) {
      columns[Math.floor((second * COLUMNS) / seconds)] = segments;
    },
    boxes() {
      const done: Box[] = [];
      let open = new Map<string, Box>();
      for (const [column, segments = []] of columns.entries()) {
        const next = new Map<string, Box>();
        for (const { lo, hi, load } of segments) {
          const shade = shadeOf(load);
          const key = `${lo}-${hi}-${shade}`;
          const box = open.get(key) ?? { lo, hi, from: column, until: column, load, shade };
          box.until = column + 1;
          next.set(key, box);
          if (!open.has(key)) done.push(box);
        }
        open = next;
      }
      return done;
    },
  };
}

/** From nothing (near white) over the target (blue) to four times the target and beyond (red, then near black). */
export function shadeOf(load: number): string {
  const steps = [
    [0.02, '#f7f7f4'],
    [0.15, '#e3eef2'],
    [0.3, '#c6dfe9'],
    [0.5, '#a2cbdd'],
    [0.75, '#74b0ce'],
    [1.0001, '#3f8fba'],
    [1.5, '#f6c15c'],
    [2.5, '#ee8b3a'],
    [4, '#d9482b'],
    [10, '#a3171f'],
  ] as const;
  return steps.find(([below]) => load < below)?.[1] ?? '#4a0d16';
}

export function drawChart(title: string, seconds: number, panels: readonly ChartPanel[]): string {
  const width = COLUMNS * COLUMN_WIDTH + 2 * MARGIN;
  const height = panels.length * (PANEL_HEIGHT + MARGIN) + MARGIN;
  const body = panels.map((panel, n) => drawPanel(panel, { top: MARGIN + n * (PANEL_HEIGHT + MARGIN), seconds }));
  const style = 'font-family="sans-serif" font-size="12" fill="#333333"';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="${MARGIN}" y="20" ${style}>${escape(title)}: partitions upwards, time to the right; blue up to the target, yellow to red beyond</text>`,
    ...body,
    '</svg>',
  ].join('\n');
}

function drawPanel(panel: ChartPanel, { top, seconds }: { readonly top: number; readonly seconds: number }): string {
  const style = 'font-family="sans-serif" font-size="11" fill="#333333"';
  // What is too hot comes last, and is never too thin to be seen.
  const boxes = panel
    .boxes()
    .toSorted((a, b) => Number(a.load > 1) - Number(b.load > 1))
    .map((box) => drawBox(box, top));
  const labels = Array.from({ length: COLUMNS / LABEL_EVERY + 1 }, (_, n) => {
    const minutes = (n * LABEL_EVERY * seconds) / COLUMNS / 60;
    return `<text x="${MARGIN + n * LABEL_EVERY * COLUMN_WIDTH}" y="${top + PANEL_HEIGHT + 14}" ${style}>${minutes.toFixed(0)} min</text>`;
  });
  return [`<text x="${MARGIN}" y="${top - 5}" ${style}>${escape(panel.title)}</text>`, ...boxes, ...labels].join('\n');
}

function drawBox({ lo, hi, from, until, load, shade }: Box, top: number): string {
  const y = top + PANEL_HEIGHT * (1 - (hi + 1) / PARTITIONS);
  const height = (PANEL_HEIGHT * (hi + 1 - lo)) / PARTITIONS;
  const isThin = load > 1 && height < HOT_HEIGHT_MIN;
  const place = `x="${MARGIN + from * COLUMN_WIDTH}" y="${y.toFixed(2)}" width="${(until - from) * COLUMN_WIDTH}"`;
  if (isThin) return `<rect ${place} height="${HOT_HEIGHT_MIN}" fill="${shade}"/>`;
  return `<rect ${place} height="${height.toFixed(2)}" fill="${shade}" stroke="#ffffff" stroke-width="0.4"/>`;
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
