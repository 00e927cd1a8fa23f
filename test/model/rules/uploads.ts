import { type Rule } from './rule.ts';

// Uploads: whoever submits one, and whoever sweeps it away.

const CLAIM = 'protocol/upload-claim.ts';
const STORED = 'state/stored-uploads.ts';
const SEND = 'publish/send-parts.ts';

export const uploadRules: readonly Rule[] = [
  {
    row: 'U1 claim',
    without: 'an attempt is sent only once each upload names it',
    patches: [{ file: SEND, from: 'if (request.claimant !== undefined) await', to: 'if (false) await' }],
    search: 'uploadsTwice',
    faults: ['stored-twice'],
  },
  {
    row: 'U1 version',
    without: 'what is put over an upload demands the version that was read',
    patches: [{ file: STORED, from: "[{ op: '=' as const, path: ['version'], value: upload.version - 1 }]", to: '[]' }],
    search: 'uploadsTwice',
    faults: ['stored-twice'],
  },
  {
    row: 'U1 version, swept',
    without: 'what is put over an upload demands the version that was read, beside a sweep',
    patches: [{ file: STORED, from: "[{ op: '=' as const, path: ['version'], value: upload.version - 1 }]", to: '[]' }],
    search: 'uploadsDue',
    faults: ['payload-lost'],
  },
  {
    row: 'U1 fate',
    without: 'of an attempt that stands there it is found out whether it has landed',
    patches: [{ file: CLAIM, from: 'next: submitted(upload, fate.entry.offset)', to: 'next: takeOver(upload, claim, nowMs)' }],
    search: 'uploadsTwice',
    faults: ['stored-twice'],
  },
  {
    row: 'U1 kill',
    without: 'an attempt that may land yet is killed before its upload is taken over',
    patches: [
      {
        file: CLAIM,
        from: "return attempt.cid < claim.attempt.cid ? { plan: 'kill' } : { plan: 'outranked', by: attempt.cid };",
        to: "return { plan: 'put', next: takeOver(upload, claim, nowMs) };",
      },
    ],
    search: 'uploadsTwice',
    faults: ['stored-twice'],
  },
  {
    row: 'U1 minute',
    without: "every object of an attempt has the attempt's minute, and a floor above that ends it: it is not uploaded anew",
    patches: [
      { file: SEND, from: '  minute === undefined && outcome', to: '  outcome' },
      { file: 'publish/write-object.ts', from: 'object.minute ?? objectMinute', to: 'objectMinute' },
    ],
    search: 'uploadsDue',
    faults: ['payload-lost'],
  },
  {
    row: 'U1 late',
    without: 'what is past its time is told so for good, since clocks differ',
    patches: [
      {
        file: CLAIM,
        from: "    case 'staged':\n",
        to: "    case 'staged':\n      if (upload.expiresMs <= nowMs) return { plan: 'expired' };\n",
      },
    ],
    search: 'uploadsLate',
    faults: ['refused-yet-stored'],
  },
  {
    row: 'U1 in use',
    without: 'who has lost an upload says so of what it has stored itself, and after it is dead',
    patches: [{ file: SEND, from: 'const ready = parts.filter(({ part }) => !outcomes.has(part));', to: 'const ready = parts;' }],
    search: 'uploadsTwice',
    faults: ['stored-twice', 'refused-yet-stored'],
  },
  {
    row: 'U3 floor',
    without: 'a sweep raises the floor before it looks whether an attempt has landed',
    patches: [
      { file: 'reference/resolve-attempt.ts', from: 'if (!dryRun) {', to: 'if (false) {' },
      { file: 'reference/resolve-attempt.ts', from: 'if (dryRun) return undefined;', to: 'return undefined;' },
    ],
    search: 'uploadsDue',
    faults: ['payload-lost', 'stored-twice'],
  },
];
