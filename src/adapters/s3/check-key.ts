import { KelpError } from '../../model/errors.ts';

const KEY = /^[^/]+(\/[^/]+)*$/;

/**
 * Refuses keys that a store which keeps them as a directory tree would change: an empty part is dropped from the name
 * (`q//x` becomes `q/x`), and a key that ends in a slash loses its body.
 */
export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new KelpError('invalid', 'store-refused', 'an object key has an empty part');
}
