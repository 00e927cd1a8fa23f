import { type Rule, without } from './rule.ts';

// Garbage: what is needed stays, and what is not goes, in the end.

const FLOORS = 'garbage/raise-floors.ts';
const COLLECT = 'garbage/collect-objects.ts';
const KEEP = 'garbage/keep-referenced.ts';

export const garbageRules: readonly Rule[] = [
  {
    row: 'G1',
    without: 'a child that is not there yet is put by the sweep itself, with the floor',
    patches: [{ file: FLOORS, from: 'if (head !== undefined) return;', to: 'if (true) return;' }],
    search: 'garbageOfChild',
    faults: ['object-lost'],
  },
  {
    row: 'G1 floor',
    without: 'and raised, should its maker have been faster',
    patches: [without(FLOORS, '\n  await raiseFloor(deps, place, signal);')],
    search: 'garbageOfChild',
    faults: ['object-lost'],
  },
  {
    row: 'G2 raise',
    without: 'floors are raised before anything is deleted',
    patches: [{ file: COLLECT, from: 'dryRun ? readTopic', to: 'true ? readTopic' }],
    search: 'garbage',
    faults: ['object-lost'],
  },
  {
    row: 'G2 topic',
    without: 'the topic is read again after they were raised',
    patches: [{ file: FLOORS, from: 'if (version === topic.version) return topic;', to: 'if (version >= 0) return topic;' }],
    search: 'garbageOfChild',
    faults: ['object-lost'],
  },
  {
    row: 'G2 child',
    without: "a child's floor is read after the intent was written",
    patches: [
      {
        file: 'topology/apply-change.ts',
        from: '  return writeTopic(deps, topic, withIntents(topic, changes), signal);',
        to: `  early = await highestFloor(deps, topic, changes.flatMap(({ parents }) => parents), signal);
          return writeTopic(deps, topic, withIntents(topic, changes), signal);`,
      },
      {
        file: 'topology/apply-change.ts',
        from: 'const parents = await highestFloor(deps, topic, change.parents, signal);',
        to: 'const parents = early ?? (await highestFloor(deps, topic, change.parents, signal));',
      },
      { file: 'topology/apply-change.ts', from: 'export type TopologyDeps =', to: 'let early;\nexport type TopologyDeps =' },
    ],
    search: 'garbageOfChild',
    faults: ['object-lost'],
  },
  {
    row: 'G2 index',
    without: 'the index is read after the floors were raised',
    patches: [
      {
        file: COLLECT,
        from: '    topic ??= await endMinutes(deps, work, minute, signal);\n',
        to: `    await keepReferenced(deps, { topic: work.topic, retired }, objects, signal);
          topic ??= await endMinutes(deps, work, minute, signal);\n`,
      },
      without(COLLECT, '    await keepReferenced(deps, { topic, retired }, objects, signal);\n'),
    ],
    search: 'garbage',
    faults: ['object-lost'],
  },
  {
    row: 'G2 head first',
    without: 'the head is read before its pages',
    patches: [
      without(KEEP, '  const head = await deps.heads.read(topic, segment, signal);\n  keep(head?.entries ?? []);\n'),
      {
        file: KEEP,
        from: 'if (page.next > gone) keep(page.entries);\n  }\n',
        to: 'if (page.next > gone) keep(page.entries);\n  }\n  keep((await deps.heads.read(topic, segment, signal))?.entries ?? []);\n',
      },
    ],
    search: 'garbage',
    faults: ['object-lost'],
  },
  {
    row: 'G2 rises',
    without: 'a floor only rises',
    patches: [{ file: 'protocol/floor.ts', from: "{ op: '<', path: ['f'], value: floor },", to: '' }],
    search: 'garbageTwice',
    faults: ['object-lost'],
  },
  {
    row: 'G3',
    without: 'all minutes below the floor are listed',
    patches: [
      {
        file: 'garbage/old-objects.ts',
        from: 'const front = await readPiece(deps, place, {}, signal);',
        to: 'const front = await readPiece(deps, place, { after: batchObjectKey(place.topic.id, place.minute, FIRST) }, signal);',
      },
    ],
    search: 'garbageLast',
    faults: ['left-behind'],
  },
];
