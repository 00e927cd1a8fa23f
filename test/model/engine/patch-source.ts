import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

// A rule is taken away where it stands: in the product's source, as that is loaded. This module must be there before any of
// the product is, so it imports nothing of it.

/** Replaces `from`, which must stand in the file exactly once, by `to`. `file`: below src. */
export type Patch = { readonly file: string; readonly from: string; readonly to: string };

const SRC = new URL('../../../src/', import.meta.url).href;
const LIMITS = ['model/limits.ts', 'model/archive-limits.ts', 'model/garbage-limits.ts'];

/** Small limits make small scopes deep. Answers the files that were changed, once all of them were loaded. */
export function patchSource(patches: readonly Patch[], limits: Readonly<Record<string, number>>): { assertLoaded(): void } {
  const all = [...patches, ...Object.entries(limits).map(([name, value]) => limitPatch(name, value))];
  const pending = new Set(all.map(({ file }) => file));
  const changed = new Map([...pending].map((file) => [SRC + file, patched(file, all)]));
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

function patched(file: string, patches: readonly Patch[]): string {
  let source = readSource(file);
  for (const patch of patches) {
    if (patch.file !== file) continue;
    const pieces = source.split(patch.from);
    if (pieces.length !== 2) throw new Error(`src/${file} has the text to patch ${pieces.length - 1} times: ${patch.from}`);
    source = pieces.join(patch.to);
  }
  return source;
}

const readSource = (file: string): string => readFileSync(fileURLToPath(SRC + file), 'utf8');

function limitPatch(name: string, value: number): Patch {
  const line = new RegExp(`^export const ${name} = [0-9_]+;$`, 'm');
  for (const file of LIMITS) {
    const [from] = line.exec(readSource(file)) ?? [];
    if (from !== undefined) return { file, from, to: `export const ${name} = ${value};` };
  }
  throw new Error(`there is no limit ${name}`);
}
