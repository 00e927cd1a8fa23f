import type { Page } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { decodeEntry, encodeEntryBody } from './entry.ts';
import { asItem, checkVersion, integerField, listField, stringField } from './item-fields.ts';

const PAGE_VERSION = 1;

export function encodePage(page: Page): Item {
  return {
    v: PAGE_VERSION,
    tenant: TENANT_DEFAULT,
    first: page.first,
    next: page.next,
    g: page.guard,
    t: page.highestTimestampMs,
    entries: page.entries.map((entry) => ({ i: entry.cid, c: entry.offset, ...encodeEntryBody(entry) })),
  };
}

/** Error `corrupt` where the item is not a page as FORMAT.md describes it. */
export function decodePage(item: Item): Page {
  checkVersion(item, PAGE_VERSION);
  return {
    first: integerField(item, 'first'),
    next: integerField(item, 'next'),
    guard: stringField(item, 'g') as CommitId | '',
    highestTimestampMs: integerField(item, 't'),
    entries: listField(item, 'entries').map((value) => {
      const entry = asItem(value, 'entries');
      return decodeEntry(stringField(entry, 'i') as CommitId, integerField(entry, 'c'), entry);
    }),
  };
}
