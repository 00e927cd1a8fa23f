import { PARTITIONS } from '../../../src/model/limits.ts';
import type { Item, Value } from '../../../src/ports/metadata-table.ts';

// What must hold of topics and heads at every moment, read from the bare items: the product's own code is what is checked.

type Range = { readonly s: string; readonly lo: number; readonly hi: number };

export function checkTopics(itemsOf: (pkPrefix: string) => readonly Item[]): string | undefined {
  const heads = itemsOf('h#');
  return (
    firstOf(itemsOf('t#'), (topic) =>
      checkTopic(
        topic,
        heads.filter((head) => head['topic'] === topic['topic']),
      ),
    ) ?? checkNames(itemsOf)
  );
}

function checkTopic(topic: Item, heads: readonly Item[]): string | undefined {
  const changes = topic['changes'] as readonly Item[];
  const created = topic['state'] === 'active' && !changes.some((change) => (change['parents'] as readonly Value[]).length === 0);
  const open = topic['open'] as unknown as readonly Range[];
  return (
    (created ? checkTiles(open) : undefined) ??
    (created && changes.length === 0 ? firstOf(open, (range) => checkListed(range, heads)) : undefined) ??
    (topic['state'] === 'deleted' ? firstOf(heads, checkDead) : undefined) ??
    firstOf(heads, (head) => checkSuccessors(head, heads)) ??
    firstOf(changes, (change) => checkPending(change, heads))
  );
}

/** A pending change can go on to its end, and its children are as it says. */
function checkPending(change: Item, heads: readonly Item[]): string | undefined {
  const parents = change['parents'] as readonly Value[];
  const other = heads.find(
    (head) => parents.includes(head['segment'] as Value) && head['state'] === 'sealed' && head['change'] !== change['id'],
  );
  if (other !== undefined) return `stuck: ${String(other['segment'])} was sealed by another change than ${String(change['id'])}`;
  return firstOf(change['children'] as unknown as readonly (Range & { readonly b?: readonly string[] })[], ({ s, b = [] }) => {
    const head = heads.find((candidate) => candidate['segment'] === s);
    if (head === undefined || (head['brokers'] as readonly string[]).join() === b.join()) return undefined;
    return `assignment: ${s} has other brokers than its change says`;
  });
}

function checkTiles(open: readonly Range[]): string | undefined {
  let next = 0;
  for (const { lo, hi, s } of open) {
    if (lo !== next) return `tiling: ${s} begins at ${lo}, where ${next} comes next`;
    next = hi + 1;
  }
  return next === PARTITIONS ? undefined : `tiling: the open segments end at ${next}`;
}

/** Without a pending change, whatever the topic lists takes messages. */
function checkListed(range: Range, heads: readonly Item[]): string | undefined {
  const head = heads.find((candidate) => candidate['segment'] === range.s);
  if (head?.['state'] === 'open') return undefined;
  return `stale-list: ${range.s} is listed as open and is ${head === undefined ? 'absent' : String(head['state'])}`;
}

const checkDead = (head: Item): string | undefined =>
  head['state'] === 'open' ? `open-after-deletion: ${String(head['segment'])} takes messages of a deleted topic` : undefined;

/** A successor that exists is the one that its parent names, and names it. */
function checkSuccessors(head: Item, heads: readonly Item[]): string | undefined {
  return firstOf(head['successors'] as unknown as readonly Range[], ({ s, lo, hi }) => {
    const child = heads.find((candidate) => candidate['segment'] === s);
    if (child === undefined) return `lineage: ${String(head['segment'])} is sealed before its successor ${s} is there`;
    if (child['lo'] !== lo || child['hi'] !== hi) return `lineage: ${s} has another range than ${String(head['segment'])} says`;
    const named = (child['predecessors'] as readonly Value[]).includes(head['segment'] as Value);
    return named ? undefined : `lineage: ${s} doesn't know its predecessor ${String(head['segment'])}`;
  });
}

/** A name leads to a topic that exists. */
function checkNames(itemsOf: (pkPrefix: string) => readonly Item[]): string | undefined {
  const topics = new Set(itemsOf('t#').map((topic) => topic['topic']));
  return firstOf(itemsOf('n#'), (name) =>
    name['topic'] === undefined || topics.has(name['topic'])
      ? undefined
      : `name: ${String(name['name'])} leads to ${String(name['topic'])}, which is gone`,
  );
}

function firstOf<T>(values: readonly T[], check: (value: T) => string | undefined): string | undefined {
  for (const value of values) {
    const wrong = check(value);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
