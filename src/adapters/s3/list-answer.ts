import assert from 'node:assert/strict';
import type { ObjectPage } from '../../ports/object-store.ts';

// The list API answers in XML. Asked for with `encoding-type=url`, keys have no markup in them, so that its elements can be
// picked out as they are; a parser would be a dependency of the hot path for this one rare call.

/** A page from the text of a list answer. Throws on what is none. */
export function parseListAnswer(xml: string): ObjectPage {
  assert(xml.includes('<ListBucketResult'), 'the answer is not a list');
  const objects = Array.from(xml.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, content = '']) => {
    const key = element(content, 'Key');
    const size = element(content, 'Size');
    assert(key !== undefined && size !== undefined && /^\d+$/.test(size), 'an object of the list has no key or no size');
    return { key: decodeURIComponent(key.replaceAll('+', ' ')), bytes: Number(size) };
  });
  const next = element(xml, 'IsTruncated') === 'true' ? objects.at(-1)?.key : undefined;
  return { objects, ...(next === undefined ? {} : { next }) };
}

/** The error's name in an error answer. */
export function parseErrorCode(xml: string): string | undefined {
  return xml.includes('<Error>') ? element(xml, 'Code') : undefined;
}

function element(xml: string, name: string): string | undefined {
  const begin = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, begin);
  return begin < 0 || end < 0 ? undefined : xml.slice(begin + name.length + 2, end);
}
