import { type Rule } from './rule.ts';

// Sweeps of uploads: what is needed stays, and what is not goes, in the end.

const REMOVE = 'reference/remove-upload.ts';
const STRAYS = 'reference/delete-strays.ts';

const objects = (from: string, to: string): Rule['patches'] => [{ file: STRAYS, from, to }];
const UNLISTED = objects(
  'const next = await sweepPage(deps, wanted, {}, signal);',
  'const next = wanted.dryRun ? await sweepPage(deps, wanted, {}, signal) : undefined;',
);

export const sweepRules: readonly Rule[] = [
  {
    row: 'U3 expired',
    without: 'an upload is expired by a write of its item before its object goes',
    patches: [
      { file: 'reference/settle-upload.ts', from: "case 'remove':\n", to: "case 'expire':\n      case 'remove':\n" },
      {
        file: 'reference/settle-upload.ts',
        from: "case 'expire':\n        upload = await write(deps, settling, expired(upload), signal);\n        break;\n",
        to: '',
      },
      { file: REMOVE, from: "if (upload.state !== 'expired') throw", to: 'if (false) throw' },
    ],
    search: 'sweepsSubmit',
    faults: ['payload-lost'],
  },
  {
    row: 'U3 above',
    without: "the floor is above the attempt's minute",
    patches: [
      { file: 'protocol/floor.ts', from: 'minuteAfter(minute)', to: 'minute' },
      { file: 'reference/resolve-attempt.ts', from: 'if (dryRun) return undefined;', to: 'return undefined;' },
    ],
    search: 'sweepsSubmit',
    faults: ['payload-lost'],
  },
  {
    row: 'U3 landed',
    without: 'what has landed is submitted',
    patches: [{ file: 'reference/plan-upload.ts', from: 'if (landedAt !== undefined) return submitted(upload, landedAt);', to: '' }],
    search: 'sweepsSubmit',
    faults: ['payload-lost'],
  },
  {
    row: 'U3 object first',
    without: 'the object goes before the item (and objects are listed)',
    patches: [
      ...UNLISTED,
      { file: REMOVE, from: '  await deps.store.delete(object, signal);\n', to: '' },
      {
        file: REMOVE,
        from: 'deps.table.delete(uploadKey(topic, upload.upload), condition, signal), signal);\n',
        to: 'deps.table.delete(uploadKey(topic, upload.upload), condition, signal), signal);\n  await deps.store.delete(object, signal);\n',
      },
    ],
    search: 'sweepsStopped',
    faults: ['left-behind'],
  },
  {
    row: 'U3 listed',
    without: 'objects are listed: a PUT that was paused brings one back',
    patches: UNLISTED,
    search: 'sweepsUploaded',
    faults: ['left-behind'],
  },
  {
    row: 'U3 items',
    without: 'of the objects that are listed, those without an item go alone',
    patches: objects('!known.has(upload)', 'known.has(upload) || true'),
    search: 'sweepsSubmit',
    faults: ['payload-lost'],
  },
];
