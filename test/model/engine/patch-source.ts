import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

// A rule is taken away where it stands: in the product's source, as that is loaded. This module must be there before any of
// the product is, so it imports nothing of it.

/** Replaces `from`, which must stand in the file exactly once, by `to`. `file`: below src. */
export type Patch = { readonly file: string; readonly from: string; readonly to: string };

const SRC = new URL('../../../src/', import.meta.url).href;
const LIMITS = 'model/limits.ts';

/** Small limits make small scopes deep. Answers the files that were changed, once all of them were loaded. */
export function patchSource(patches: readonly Patch[], limits: Readonly<Record<string, number>>): { assertLoaded(): void } {
  const pending = new Set([...patches.map(({ file }) => file), ...(Object.keys(limits).length > 0 ? [LIMITS] : [])]);
  const changed = new Map([...pending].map((file) => [SRC + file, patched(file, patches, limits)]));
  registerHooks({
    load(url, context, nextLoad) {
      const source = changed.get(url);
      if (source === undefined) return nextLoad(url, context);
      pending.delete(url.slice(SRC.length));
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
  return {
    assertLoaded() {
      if (pending.size > 0) throw new Error(`the scope never loads ${[...pending].join(', ')}, which is patched`);
    },
  };
}

function patched(file: string, patches: readonly Patch[], limits: Readonly<Record<string, number>>): string {
  let source = readFileSync(fileURLToPath(SRC + file), 'utf8');
  if (file === LIMITS) {
    for (const [name, value] of Object.entries(limits)) source = withLimit(source, name, value);
  }
  for (const patch of patches) {
    if (patch.file !== file) continue;
    const pieces = source.split(patch.from);
    if (pieces.length !== 2) throw new Error(`src/${file} has the text to patch ${pieces.length - 1} times: ${patch.from}`);
    source = pieces.join(patch.to);
  }
  return source;
}

function withLimit(source: string, name: string, value: number): string {
  const line = new RegExp(`^export const ${name} = [0-9_]+;$`, 'm');
  if (!line.test(source)) throw new Error(`src/${LIMITS} has no number ${name}`);
  return source.replace(line, `export const ${name} = ${value};`);
}
