// Plain CommonJS: the Node that runs this may be too old for everything else here.
// Node 24 comes as an optional dependency, which `--omit=optional` drops without a word.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `kelp: needs Node 24, but "node" is ${process.version}: run "npm ci" without --omit=optional, or put Node 24 first on PATH`,
  );
  process.exit(1);
}
