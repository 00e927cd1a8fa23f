import { KelpError } from '../../src/model/errors.ts';
import type { Item, Value } from '../../src/ports/metadata-table.ts';

/** Every single way to give a value in the item another type, and to leave out one that may not be missing. */
function damages(item: Item, optional: readonly string[]): { readonly where: string; readonly item: Item }[] {
  return Object.keys(item).flatMap((name) => {
    const { [name]: value, ...rest } = item;
    const missing = optional.includes(name) ? [] : [{ where: `${name} left out`, item: rest }];
    const broken = brokenValues(value as Value).map((other) => ({
      where: `${name} as ${JSON.stringify(other)}`,
      item: { ...item, [name]: other },
    }));
    return [...missing, ...broken];
  });
}

/** The value with one part of it, or all of it, of another type. */
function brokenValues(value: Value): Value[] {
  const whole: Value = typeof value === 'string' ? 1 : 'x';
  if (Array.isArray(value)) {
    const list = value as readonly Value[];
    return [whole, ...list.flatMap((part, index) => brokenValues(part).map((broken) => list.with(index, broken)))];
  }
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [whole];
  const map = value as Item;
  return [whole, ...Object.keys(map).flatMap((name) => brokenValues(map[name] as Value).map((broken) => ({ ...map, [name]: broken })))];
}

/** Which of these damages `decode` takes, or answers with anything but `corrupt`. `ignored`: what it doesn't look at. */
export function undetected(
  item: Item,
  decode: (item: Item) => unknown,
  { optional = [], ignored = [] }: { readonly optional?: readonly string[]; readonly ignored?: readonly string[] } = {},
): string[] {
  const looked = damages(item, [...optional, ...ignored]).filter(({ where }) => !ignored.some((name) => where.startsWith(`${name} `)));
  return looked.filter((damage) => !isCorrupt(() => decode(damage.item))).map(({ where }) => where);
}

function isCorrupt(decode: () => unknown): boolean {
  try {
    decode();
    return false;
  } catch (error) {
    return error instanceof KelpError && error.kind === 'corrupt';
  }
}
