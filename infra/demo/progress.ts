/** Where progress is shown: a terminal gets a bar that moves, anything else a line now and then. */
export type Screen = { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
export type Progress = { update(done: number): void; end(): void };

const REDRAW_MS = 100;
const BAR_COLUMNS = 30;
const COLUMNS_DEFAULT = 80;
/** Without a terminal: a line each time that another tenth is done. */
const LINES = 10;
const ERASE_LINE = '\u001B[2K';

export type ProgressOptions = { readonly what: string; readonly total: number; readonly screen: Screen; readonly nowMs: () => number };

export function createProgress(options: ProgressOptions): Progress {
  return options.screen.isTTY === true ? createBar(options) : createLines(options);
}

function createBar({ what, total, screen, nowMs }: ProgressOptions): Progress {
  const startMs = nowMs();
  let last = 0;
  let drawnMs = Number.NEGATIVE_INFINITY;
  function draw(done: number): void {
    const filled = Math.min(BAR_COLUMNS, Math.floor((done / total) * BAR_COLUMNS));
    const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_COLUMNS - filled)}`;
    const line = `${what} ${bar} ${describe(done, total, nowMs() - startMs)}`;
    screen.write(`\r${ERASE_LINE}${line.slice(0, (screen.columns ?? COLUMNS_DEFAULT) - 1)}`);
    drawnMs = nowMs();
  }
  return {
    update(done) {
      last = done;
      if (nowMs() - drawnMs >= REDRAW_MS) draw(done);
    },
    end() {
      draw(last);
      screen.write('\n');
    },
  };
}

function createLines({ what, total, screen, nowMs }: ProgressOptions): Progress {
  const startMs = nowMs();
  let shown = 0;
  return {
    update(done) {
      const part = Math.floor((done / total) * LINES);
      if (part <= shown) return;
      shown = part;
      screen.write(`${what} ${describe(done, total, nowMs() - startMs)}\n`);
    },
    end: () => undefined,
  };
}

function describe(done: number, total: number, ms: number): string {
  const rate = ms > 0 ? Math.round((done / ms) * 1_000) : 0;
  const left = rate > 0 && done < total ? `, ${Math.ceil((total - done) / rate)} s left` : '';
  return `${Math.floor((done / total) * 100)} %, ${withCommas(done)} rows, ${withCommas(rate)} rows/s${left}`;
}

export function withCommas(value: number): string {
  return value.toLocaleString('en-US');
}
