import type { Item } from '../../../src/ports/metadata-table.ts';
import type { Scope } from '../engine/world.ts';

type Place = { readonly segment: string; readonly offset: number };

/**
 * What is in the log has its payload: its upload is neither expired nor gone, nor anybody's to take; and what says that it is submitted
 * is in the log, where it says. Objects are called by what is in them, as in groups.ts.
 */
export function checkUpload(message: string): NonNullable<Scope['check']> {
  return (itemsOf) => {
    const [upload] = itemsOf('u#');
    const state = String(upload?.['state'] ?? 'gone');
    const found = [...itemsOf('h#').flatMap(inHead), ...itemsOf('p#').flatMap(inPage), ...itemsOf('o#').flatMap(inFile)];
    const [place] = found.flatMap((entry) => placeIn(entry, message));
    if (place !== undefined && ['gone', 'expired', 'staged'].includes(state))
      return `payload-lost: ${message} is stored, its upload is ${state}`;
    // It may be gone by now.
    const isCut = itemsOf('p#').some(({ start }) => Number(start ?? 0) > Number(upload?.['offset'] ?? 0));
    return upload === undefined || state !== 'submitted' || isCut ? undefined : checkSubmitted(upload, message, place);
  };
}

function checkSubmitted(upload: Item, message: string, place: Place | undefined): string | undefined {
  const said = { segment: String((upload['attempt'] as Item)['s']), offset: Number(upload['offset']) };
  if (place === undefined) return `submitted-not-stored: ${message} at ${said.segment}@${said.offset}`;
  if (place.segment === said.segment && place.offset === said.offset) return undefined;
  return `wrong-offset: ${message} is at ${place.segment}@${place.offset}, its upload says ${said.segment}@${said.offset}`;
}

type Found = Place & { readonly object: string };

function inHead(head: Item): Found[] {
  const bodies = head['m'] as Item;
  const segment = String(head['segment']);
  return Object.entries(head['c'] as Item).map(([cid, offset]) => {
    return { segment, offset: Number(offset), object: String((bodies[cid] as Item)['o']) };
  });
}

function inFile({ sk, rows }: Item): Found[] {
  const segment = /kelp_segment=([^/]+)/.exec(String(sk))?.[1] ?? '';
  return ((rows ?? []) as readonly string[]).map((row) => {
    const [message, offset] = row.split('@');
    return { segment, offset: Number(offset), object: `${segment}=${message}` };
  });
}

function inPage(page: Item): Found[] {
  if (page['entries'] === undefined) return [];
  const segment = String(page['pk']).split('#')[2] ?? '';
  return (page['entries'] as readonly Item[]).map((entry) => ({ segment, offset: Number(entry['c']), object: String(entry['o']) }));
}

const placeIn = ({ segment, offset, object }: Found, message: string): Place[] =>
  object.split('.').includes(`${segment}=${message}`) ? [{ segment, offset }] : [];
