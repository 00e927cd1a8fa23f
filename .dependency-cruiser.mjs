// The layers of src/README.md: a module may import its own layer and those listed for it, nothing else.
const BELOW_SERVICES = ['topology', 'state', 'protocol', 'format', 'ports', 'model'];
const SERVICES = ['publish', 'consume', 'topics', 'reference', 'archive', 'garbage'];

const LAYERS = {
  model: [],
  ports: ['model'],
  format: ['ports', 'model'],
  protocol: ['format', 'ports', 'model'],
  state: ['protocol', 'format', 'ports', 'model'],
  topology: ['state', 'protocol', 'format', 'ports', 'model'],
  // Siblings don't know each other: what two of them need goes down.
  ...Object.fromEntries([...SERVICES, 'control'].map((name) => [name, BELOW_SERVICES])),
  http: [...SERVICES, 'control', 'format', 'ports', 'model'],
  // Puts the services together, for every runtime.
  broker: [...SERVICES, 'control', ...BELOW_SERVICES],
  client: ['format', 'model'],
  adapters: ['format', 'ports', 'model'],
  cli: [...SERVICES, 'broker', 'http', 'control', 'client', 'adapters', ...BELOW_SERVICES],
};

const layerRules = Object.entries(LAYERS).map(([layer, below]) => ({
  name: `layer-${layer}`,
  comment: `src/${layer} may import ${[layer, ...below].join(', ')} of src/`,
  severity: 'error',
  from: { path: `^src/${layer}/` },
  to: { path: '^(src|functions|infra|test)/', pathNot: `^src/(${[layer, ...below].join('|')})/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...layerRules,
    {
      name: 'layer-unknown',
      comment: 'a new folder of src/ needs a line in LAYERS',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(${Object.keys(LAYERS).join('|')})/` },
      to: {},
    },
    {
      name: 'functions-are-thin',
      severity: 'error',
      from: { path: '^functions/' },
      to: { path: '^(infra|test)/' },
    },
    {
      name: 'product-without-tools',
      comment: 'what runs in production imports no development dependency',
      severity: 'error',
      from: { path: '^(src|functions|infra/local)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default', 'types'] },
  },
};
