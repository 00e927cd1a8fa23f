import { build, type BuildOptions, type Metafile } from 'esbuild';
import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';

// Bundles every functions/*.ts into one file each. A function's start is paid for with every byte that it loads.
const SOURCE = 'functions';
/** Another folder by argument: a test's own. */
const TARGET = process.argv[2] ?? 'dist/functions';
/** A tenth more than there was when they were set: what makes one grow is to be noticed. A new one needs a line. */
const BYTES_MAX: Readonly<Record<string, number>> = {
  broker: 435_000,
  read: 267_000,
  leader: 463_000,
  rebalance: 197_000,
  sweep: 131_000,
  archive: 240_000,
  edge: 560_000,
};
/** A native addon doesn't survive bundling: it would fail on the first request, not here. */
const NATIVE = /\.node$|crc32c-native|@node-rs\//;

/** workerd, at the edge; all others run on Node. */
const EDGE = 'edge.ts';
/** What must not be in a bundle. Where clocks stand still during work nobody leads, and there are no sockets. */
const BANNED: Readonly<Record<string, RegExp>> = {
  edge: /^src\/control\/(member|leader\/leadership)\.ts$|^src\/adapters\/signed-http\/exchange\.ts$/,
};

const COMMON = {
  outdir: TARGET,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  mainFields: ['module', 'main'],
  minify: true,
  metafile: true,
  // Both stand beside the bundle and are not packaged.
  sourcemap: 'external',
  legalComments: 'external',
} as const satisfies BuildOptions;
const ON_NODE = {
  ...COMMON,
  platform: 'node',
  target: 'node24',
  conditions: ['portable', 'module'],
  // Some dependencies are CommonJS and ask for Node's modules at run time.
  banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
} as const satisfies BuildOptions;
const AT_THE_EDGE = {
  ...COMMON,
  platform: 'neutral',
  target: 'es2024',
  conditions: ['portable', 'workerd', 'worker', 'browser', 'module'],
  // The runtime brings them (nodejs_compat).
  external: ['node:*'],
} as const satisfies BuildOptions;

const names = readdirSync(SOURCE).filter((name) => name.endsWith('.ts'));
if (names.length === 0) throw new Error(`no functions in ${SOURCE}/`);
rmSync(TARGET, { recursive: true, force: true });
const entries = (isWanted: (name: string) => boolean): string[] => names.filter(isWanted).map((name) => join(SOURCE, name));
const built = await Promise.all([
  build({ ...ON_NODE, entryPoints: entries((name) => name !== EDGE) }),
  build({ ...AT_THE_EDGE, entryPoints: entries((name) => name === EDGE) }),
]);
const problems = built
  .flatMap(({ metafile }) => Object.entries(metafile.outputs))
  .filter(([file]) => file.endsWith('.mjs'))
  .flatMap(([file, output]) => inspect(file, output));
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

function inspect(file: string, { bytes, inputs }: Metafile['outputs'][string]): string[] {
  const name = basename(file, '.mjs');
  const bytesMax = BYTES_MAX[name] ?? 0;
  const kilobytes = (bytes / 1000).toFixed(0);
  console.log(`${file}: ${kilobytes} KB of ${bytesMax / 1000} KB`);
  const natives = Object.keys(inputs).filter((input) => NATIVE.test(input));
  const banned = Object.keys(inputs).filter((input) => BANNED[name]?.test(input));
  return [
    ...(bytes > bytesMax ? [`${file} has ${kilobytes} KB, of ${bytesMax / 1000} KB at most`] : []),
    ...natives.map((input) => `${file} bundles the native ${input}`),
    ...banned.map((input) => `${file} bundles ${input}, which it can't use`),
  ];
}
