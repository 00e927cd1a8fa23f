import { meanRelief, type Score } from './score.ts';

/** One trace under one scaler. */
export type Row = { readonly trace: string; readonly scaler: string; readonly score: Score };

/** What was aimed at, and what came of it. */
export type Aim = { readonly trace: string; readonly aim: string; readonly figure: string; readonly met: boolean };

const NONE = '–';
const TEXT_COLUMNS = 2;
const GAP = '  ';
const RELIEF_TIMES = 5;
const PLAN_MS_MAX = 50;

type Column = { readonly heading: string; readonly cell: (row: Row) => string };

const COLUMNS: readonly Column[] = [
  { heading: 'trace', cell: ({ trace }) => trace },
  { heading: 'by', cell: ({ scaler }) => scaler },
  { heading: 'relief s', cell: ({ score }) => meanRelief(score)?.toFixed(0) ?? NONE },
  { heading: 'not relieved', cell: ({ score: { reliefs } }) => unrelieved(reliefs) },
  { heading: 'oscillations/h', cell: ({ score }) => score.oscillationsPerHour.toFixed(2) },
  { heading: 'changes/h', cell: ({ score }) => score.changesPerHour.toFixed(2) },
  { heading: 'borders/h', cell: ({ score }) => score.cutsPerHour.toFixed(2) },
  { heading: 'sealed/h', cell: ({ score }) => score.sealedPerHour.toFixed(2) },
  { heading: 'peak ×target', cell: ({ score }) => score.peakLoad.toFixed(2) },
  { heading: 'overload s', cell: ({ score }) => score.overloadSeconds.toFixed(0) },
  { heading: 'segments', cell: ({ score }) => String(score.segmentsMax) },
  { heading: 'at the end', cell: ({ score }) => String(score.segmentsEnd) },
  { heading: 'plan ms', cell: ({ score }) => score.planMsMean.toFixed(2) },
  { heading: 'longest', cell: ({ score }) => score.planMsMax.toFixed(1) },
];

export function formatRows(rows: readonly Row[]): string {
  return layOut([COLUMNS.map(({ heading }) => heading), ...rows.map((row) => COLUMNS.map(({ cell }) => cell(row)))], TEXT_COLUMNS);
}

function unrelieved(reliefs: Score['reliefs']): string {
  return reliefs.length === 0 ? NONE : `${reliefs.filter(({ reached }) => !reached).length} of ${reliefs.length}`;
}

/** What Kelp's planner is to be beside the opponent, trace by trace; only what is the same at every run of a seed. */
export function judge(ours: Row, theirs: Row): Aim[] {
  const ourRelief = meanRelief(ours.score);
  const theirRelief = meanRelief(theirs.score);
  const aims: Aim[] = [];
  if (ourRelief !== undefined && theirRelief !== undefined) {
    aims.push({
      trace: ours.trace,
      aim: `relief at least ${RELIEF_TIMES} × faster`,
      figure: `${ourRelief.toFixed(0)} s against ${theirRelief.toFixed(0)} s`,
      met: ourRelief * RELIEF_TIMES <= theirRelief,
    });
  }
  const { cutsPerHour, oscillationsPerHour } = ours.score;
  return [
    ...aims,
    {
      trace: ours.trace,
      aim: 'no more borders come and go',
      figure: `${cutsPerHour.toFixed(2)}/h against ${theirs.score.cutsPerHour.toFixed(2)}/h`,
      met: cutsPerHour <= theirs.score.cutsPerHour,
    },
    { trace: ours.trace, aim: 'no oscillation', figure: `${oscillationsPerHour.toFixed(2)}/h`, met: oscillationsPerHour === 0 },
  ];
}

export function judgePlan(segments: number, medianMs: number): Aim {
  return {
    trace: 'planning alone',
    aim: `a plan of ${segments} segments within ${PLAN_MS_MAX} ms`,
    figure: `${medianMs.toFixed(1)} ms`,
    met: medianMs <= PLAN_MS_MAX,
  };
}

export function formatAims(aims: readonly Aim[]): string {
  const lines = aims.map(({ trace, aim, figure, met }) => [met ? 'met' : 'NOT MET', trace, aim, figure]);
  return layOut([['', 'trace', 'aim', 'found'], ...lines], 4);
}

/** Text at the left, figures at the right. */
function layOut(lines: readonly (readonly string[])[], textColumns: number): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const padded = (cell: string, column: number): string =>
    column < textColumns ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((cells) => cells.map(padded).join(GAP).trimEnd()).join('\n');
}
