/** Layers, top to bottom. A layer may import (values of) the layers named for it, itself, and `core`. */
const layers = {
  cli: 'server|stack|client|evaluation|config|stores|core',
  stack: 'workers|engines|sandboxes|config|stores|core',
  client: 'stack|workflows|training|evaluation|config|stores|core',
  server: 'client|renderers|engines|config|stores|core',
  workers:
    'config|workflows|activities|server|training|evaluation|renderers|datasets|engines|sandboxes|stores|loggers|core',
  workflows: 'core',
  activities: 'training|evaluation|core',
  training: 'renderers|datasets|engines|evaluation|sandboxes|stores|core',
  evaluation: 'engines|sandboxes|datasets|renderers|hub|stores|core',
  renderers: 'hub|sandboxes|core',
  datasets: 'hub|core',
  hub: 'core',
  engines: 'core',
  sandboxes: 'core',
  stores: 'core',
  loggers: 'core',
  config: 'core',
  core: 'core',
};

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    ...Object.entries(layers).map(([layer, allowed]) => ({
      name: `${layer}-imports-only-below`,
      severity: 'error',
      from: { path: `^src/${layer}/` },
      to: { path: '^src/', pathNot: `^src/(${layer}|${allowed})/`, dependencyTypesNot: ['type-only'] },
    })),
    {
      name: 'local-engine-knows-only-the-protocol',
      severity: 'error',
      from: { path: '^src/engines/local/' },
      to: { path: '^src/', pathNot: '^src/(engines/(local|tinker)|core)/' },
    },
    {
      name: 'workflows-stay-deterministic',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: {
        dependencyTypes: ['npm', 'core'],
        pathNot: '@temporalio/(workflow|common)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'core-is-pure',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { dependencyTypes: ['npm', 'core'] },
    },
    {
      name: 'temporal-stays-at-the-edge',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(workflows|activities|workers|client|stack|cli|config)/' },
      to: { path: '@temporalio/' },
    },
    {
      name: 'the-package-brings-what-it-imports',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/engines/local/kernels/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'no-catch-all-names',
      severity: 'error',
      from: {},
      to: { path: '^src/.*(utils|helpers|common|misc|manager)' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'import', 'default'],
    },
  },
};
