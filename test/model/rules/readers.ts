import type { Rule } from './rule.ts';

// Readers of a whole topic: what they may open, and where `latest` is.

const LINEAGE = 'consume/lineage.ts';

export const readerRules: readonly Rule[] = [
  {
    row: 'C1 whole',
    without: 'a segment opens when it is next for its whole range',
    patches: [{ file: LINEAGE, from: 'ahead.length === under.length && isFree(segment)', to: 'true' }],
    search: 'splitAndMerged',
    faults: ['early', 'skip'],
  },
  {
    row: 'C1 unfinished',
    without: 'nothing opens over a range that is still being read',
    patches: [{ file: LINEAGE, from: 'positions.filter((position) => !position.finished);', to: '[];' }],
    search: 'splitAndMerged',
    faults: ['early', 'skip'],
  },
  ...['readThroughMerge', 'mergedAndSplit'].map((search): Rule => ({
    row: 'C1 merge',
    without: `a merged segment opens once both of its predecessors are finished (${search})`,
    patches: [
      { file: LINEAGE, from: 'ahead.length === under.length && isFree(segment)', to: 'ahead.some((position) => position.finished)' },
    ],
    search,
    faults: ['early', 'skip'],
  })),
  {
    row: 'C1 one read',
    without: 'finished is sealed and read to the tail in one read of the head',
    patches: [
      {
        file: 'consume/read-round.ts',
        from: '  settle(deps, topic, progress);',
        to: `for (const { position, head } of readings(deps, topic, progress.state.positions)) {
            const later = await deps.table.get({ pk: 'h#' + topic.id + '#' + position.segment, sk: 'head' }, signal);
            if (head === undefined || later.state !== 'sealed' || position.offset < head.tail) continue;
            progress.state = { ...progress.state, positions: replace(progress.state.positions, { ...position, finished: true }) };
          }`,
      },
    ],
    search: 'readThroughSeal',
    faults: ['early'],
  },
  {
    row: 'C2',
    without: "'latest' is fixed by a strong read of the topology",
    patches: [
      {
        file: 'consume/open-segments.ts',
        from: "const records = await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal);",
        to: 'const records = topic.open;',
      },
    ],
    search: 'latest',
    faults: ['old-as-new'],
  },
];
