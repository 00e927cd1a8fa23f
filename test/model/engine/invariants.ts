import type { Item } from '../../../src/ports/metadata-table.ts';
import type { ProcessState, Result } from './process.ts';
import { type ContentsOf, namedContents, readSegment, type StoredLog } from './stored-log.ts';
import type { StoredMessage } from './stored-message.ts';
import { checkReads, type Reads } from './reads.ts';
import { readArchived } from './stored-archive.ts';
import type { Scope, State, World } from './world.ts';

type Places = ReadonlyMap<string, readonly StoredMessage[]>;
/** `starts`: first offset that is kept, by segment. */
type Stored = { readonly fault: string | undefined; readonly places: Places; readonly starts: ReadonlyMap<string, number> };

/**
 * What must hold in every state: each segment's index covers its offsets, nothing is stored twice, and what callers were
 * told is true. A crash is a process that takes no more steps, so every state is also one after crashes.
 */
export function createInvariant(world: World): (state: State) => string | undefined {
  const segments = new Map<string, StoredLog>();
  const worlds = new Map<string, Stored>();

  const stored = (state: State): Stored => {
    const text = state.items.join();
    let known = worlds.get(text);
    if (known === undefined) {
      const gathered = gather(readSegments(world, state, segments));
      const fault = gathered.fault ?? checkServed(world, state) ?? checkScope(world, state, gathered.places);
      known = { ...gathered, fault };
      worlds.set(text, known);
    }
    return known;
  };

  return (state) => {
    const { fault, places, starts } = stored(state);
    if (fault !== undefined) return fault;
    for (const id of state.locals) {
      const own = world.locals.local(id).state;
      const wrong = own.faults?.[0] ?? checkResults(own, places, starts) ?? checkReader(world, state, own, places);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function readSegments(world: World, state: State, known: Map<string, StoredLog>): StoredLog[] {
  const heads: { readonly segment: string; readonly pk: string; readonly id: number }[] = [];
  const beside = new Map<string, number[]>();
  const files: number[] = [];
  for (const [slot, id] of state.items.entries()) {
    const key = world.shared.keyOfSlot(slot);
    if (id === 0 || key === undefined) continue;
    const rest = key.pk.slice(2);
    if (key.sk === 'head') heads.push({ segment: rest.split('#')[1] ?? '', pk: rest, id });
    else if (key.pk.startsWith('p#')) beside.set(rest, [...(beside.get(rest) ?? []), id]);
    else if (key.sk.startsWith('topics/')) files.push(id);
  }
  return heads.map(({ segment, pk, id }) => {
    const own = [...(beside.get(pk) ?? []), ...files];
    const text = `${id}:${own.join()}`;
    const log = known.get(text) ?? readItems(world, segment, [id, ...own]);
    known.set(text, log);
    return log;
  });
}

function readItems(world: World, segment: string, ids: readonly number[]): StoredLog {
  const [head, ...items] = ids.map((id) => world.shared.itemOf(id) as Item) as [Item, ...Item[]];
  const named = (start: string): Item[] => items.filter(({ sk }) => String(sk).startsWith(start));
  const pages = named('p').toSorted((a, b) => Number(a['first']) - Number(b['first']));
  const archived = readArchived(segment, { archive: named('a')[0], records: named('f'), files: named('topics/') });
  return readSegment({ segment, head, pages, archived }, contentsOf(world.scope));
}

/** Whoever looks for the segments of a broker that is gone must find all of them: the list of a broker is ahead of the heads. */
function checkServed(world: World, state: State): string | undefined {
  const there = state.items.flatMap((id, slot) => {
    const key = world.shared.keyOfSlot(slot);
    return id === 0 || key === undefined ? [] : [{ key, item: world.shared.itemOf(id) as Item }];
  });
  const served = new Set(there.flatMap(({ key }) => (key.pk.startsWith('a#') ? [`${key.pk.slice(2)} ${key.sk}`] : [])));
  for (const { key, item } of there) {
    if (key.sk !== 'head' || item['state'] === 'sealed') continue;
    const unnoted = (item['brokers'] as readonly string[]).find((broker) => !served.has(`${broker} ${key.pk.slice(2)}`));
    if (unnoted !== undefined) return `unserved: ${String(item['segment'])} names ${unnoted}, whose list doesn't have it`;
  }
  return undefined;
}

const contentsOf =
  (scope: Scope): ContentsOf =>
  (object, segment) =>
    scope.objects?.[object] ?? namedContents(object, segment);

function gather(logs: readonly StoredLog[]): Stored {
  const places = new Map<string, StoredMessage[]>();
  const starts = new Map(logs.map(({ segment, start }) => [segment, start]));
  for (const { messages, fault } of logs) {
    if (fault !== undefined) return { fault, places, starts };
    for (const message of messages) places.set(message.message, [...(places.get(message.message) ?? []), message]);
  }
  for (const [message, found] of places) {
    if (found.length > 1) {
      const where = found.map((place) => `${place.segment}@${place.offset}`).join(' and ');
      return { fault: `stored-twice: ${message} at ${where}`, places, starts };
    }
  }
  return { fault: undefined, places, starts };
}

function checkScope(world: World, state: State, places: Places): string | undefined {
  const { orders = [], withoutGaps = false, check } = world.scope;
  for (const order of orders) {
    const wrong = checkOrder(order, places, withoutGaps);
    if (wrong !== undefined) return wrong;
  }
  return check?.((prefix) =>
    state.items.flatMap((id, slot) => {
      const item = world.shared.itemOf(id);
      return item !== undefined && world.shared.keyOfSlot(slot)?.pk.startsWith(prefix) === true ? [item] : [];
    }),
  );
}

/** Segment ids count up along a lineage, so a reader comes by (segment, offset). */
function checkOrder(order: readonly string[], places: Places, withoutGaps: boolean): string | undefined {
  let before: StoredMessage | undefined;
  for (const [index, message] of order.entries()) {
    const place = places.get(message)?.[0];
    if (place === undefined) continue;
    if (before !== undefined && (before.segment > place.segment || (before.segment === place.segment && before.offset > place.offset))) {
      return `order: ${message} at ${place.segment}@${place.offset} comes before ${before.message} at ${before.segment}@${before.offset}`;
    }
    const missing = withoutGaps ? order.slice(0, index).find((earlier) => !places.has(earlier)) : undefined;
    if (missing !== undefined) return `gap: ${message} is stored, and ${missing} is not`;
    before = place;
  }
  return undefined;
}

function checkReader(world: World, state: State, own: ProcessState, places: Places): string | undefined {
  const reads = own['read'] as Reads | undefined;
  if (reads === undefined || reads.length === 0) return undefined;
  const heads = new Map<string, Item>();
  for (const [slot, id] of state.items.entries()) {
    const item = world.shared.itemOf(id);
    if (item !== undefined && world.shared.keyOfSlot(slot)?.sk === 'head') heads.set(String(item['segment']), item);
  }
  const { old } = world.scope;
  return checkReads(reads, heads, { old: new Set(old), messages: [...places.values()].flat(), fromStart: old === undefined });
}

function checkResults(own: ProcessState, places: Places, starts: Stored['starts']): string | undefined {
  for (const result of own.results ?? []) {
    // What was there, and is kept no more, is as its caller was told.
    if (result.offset !== undefined && result.offset < (starts.get(result.segment ?? '') ?? 0)) continue;
    const wrong = checkResult(result, places.get(result.message) ?? []);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function checkResult(result: Result, places: readonly StoredMessage[]): string | undefined {
  const { message, offset, segment, objects } = result;
  switch (result.result) {
    case 'unknown':
      return undefined;
    case 'refused': {
      const place = places.find(({ object }) => objects === undefined || objects.includes(object));
      return place === undefined ? undefined : `refused-yet-stored: ${message} (${result.code}) at ${place.segment}@${place.offset}`;
    }
    case 'duplicate':
    case 'acked': {
      if (places.length === 0) return `acked-not-stored: ${message} (${result.result}) at ${segment}@${offset}`;
      if (offset === undefined || places.some((place) => place.offset === offset && place.segment === segment)) return undefined;
      return `wrong-offset: ${message} is at ${places[0]?.segment}@${places[0]?.offset}, its caller was told ${segment}@${offset}`;
    }
  }
}
