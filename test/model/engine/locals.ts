import type { Item } from '../../../src/ports/metadata-table.ts';
import { type Local, localText, type Process, type ProcessState, replay } from './process.ts';
import type { Answer, SharedTable } from './shared-table.ts';

/** An answer as a number: `kind` and the number of the item (or of the list of items) that it brings. */
const KINDS = ['item', 'items', 'applied', 'refused', 'lost', 'failed', 'aborted'] as const;
type Kind = (typeof KINDS)[number];
const INDEXES_MAX = 64;

type Node = { readonly local: Local; readonly next: Map<number, number> };

/**
 * All points of all processes' lives that were met, numbered. Where a process goes on an answer is worked out once, by
 * running its code again, which takes time of its own: until then `after` answers undefined and `learn` works it out.
 */
export function createLocals(shared: SharedTable, processes: readonly Process[]) {
  const nodes: Node[] = [];
  const byText = new Map<string, number>();
  const lists: (readonly number[])[] = [];
  const listIds = new Map<string, number>();
  let wanted: { readonly id: number; readonly code: number }[] = [];

  const add = (local: Local): number => {
    const text = localText(local);
    const known = text === undefined ? undefined : byText.get(text);
    if (known !== undefined) return known;
    nodes.push({ local, next: new Map() });
    if (text !== undefined) byText.set(text, nodes.length - 1);
    return nodes.length - 1;
  };
  const node = (id: number): Node => nodes[id] as Node;

  const decode = (code: number): { readonly index: number; readonly answer: Answer } => {
    const index = code % INDEXES_MAX;
    const rest = Math.floor(code / INDEXES_MAX);
    const kind = KINDS[rest % KINDS.length] as Kind;
    const content = Math.floor(rest / KINDS.length);
    if (kind === 'lost' || kind === 'failed' || kind === 'aborted') return { index, answer: { answer: kind } };
    if (kind !== 'items') return { index, answer: { answer: kind, item: shared.itemOf(content) } };
    const [more, ...ids] = lists[content] as readonly number[];
    return { index, answer: { answer: kind, items: ids.map((id) => shared.itemOf(id) as Item), more: more === 1 } };
  };

  return {
    local: (id: number): Local => node(id).local,
    count: (): number => nodes.length,
    async start(process: number, start: ProcessState): Promise<number> {
      return add(await replay(shared, processes, { process, phase: 0, state: start, history: [] }));
    },
    /** The number of a list of items, for an answer of the kind `items`. */
    listId(ids: readonly number[], more: boolean): number {
      const text = `${more ? 1 : 0},${ids.join()}`;
      const known = listIds.get(text);
      if (known !== undefined) return known;
      lists.push([more ? 1 : 0, ...ids]);
      listIds.set(text, lists.length - 1);
      return lists.length - 1;
    },
    /** Where a local goes when its request `index` is answered so; undefined: not known yet, call `learn`. */
    after(id: number, index: number, kind: Kind, content: number): number | undefined {
      const code = (content * KINDS.length + KINDS.indexOf(kind)) * INDEXES_MAX + index;
      const next = node(id).next.get(code);
      if (next === undefined) wanted.push({ id, code });
      return next;
    },
    async learn(): Promise<void> {
      const asked = wanted;
      wanted = [];
      for (const { id, code } of asked) {
        const { local, next } = node(id);
        if (next.has(code)) continue;
        const { process, phase, state, history } = local;
        next.set(code, add(await replay(shared, processes, { process, phase, state, history: [...history, decode(code)] })));
      }
    },
  };
}
