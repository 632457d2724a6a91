const os = require('node:os');

/**
 * Which tests there are, in three projects: `npm test` selects the quick one, `npm run test:stack` the other stories of the real stack,
 * `npm run test:deep` long matrices. `npx jest PATTERN` finds the tests of all. The stories of the quick one are those that carry what
 * the product promises.
 */
const STORIES = [
  'workflows/train-supervised',
  'workflows/train-reinforcement',
  'workflows/rewinds',
  'workflows/killed-between',
  'workflows/run-benchmark',
  'workflows/library',
  'e2e/commands',
];

/** Packages that ship only ES modules are compiled on the way in. */
const ESM_ONLY = [
  'hyparquet',
  'hyparquet-compressors',
  'hysnappy',
  '@huggingface',
  '@noble',
  '@scure',
  'age-encryption',
  '@secretlint',
  'structured-source',
  'boundary',
];

/** Tests run from the TypeScript sources. */
const SHARED = {
  testEnvironment: '<rootDir>/test/setup/environment.js',
  transform: {
    '^.+\\.(ts|js|mjs)$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${ESM_ONLY.join('|')})/)`],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/lib', '<rootDir>/.everstep'],
  globalSetup: '<rootDir>/test/setup/global-setup.js',
  globalTeardown: '<rootDir>/test/setup/global-teardown.js',
};

module.exports = {
  projects: [
    {
      ...SHARED,
      displayName: 'quick',
      testMatch: [
        '<rootDir>/test/!(workflows|e2e|deep)/**/*.test.ts',
        ...STORIES.map((story) => `<rootDir>/test/${story}.test.ts`),
      ],
    },
    {
      ...SHARED,
      displayName: 'stack',
      testMatch: ['<rootDir>/test/{workflows,e2e}/**/*.test.ts'],
      testPathIgnorePatterns: [
        '/node_modules/',
        ...STORIES.map((story) => `<rootDir>/test/${story}\\.test\\.ts$`),
      ],
    },
    { ...SHARED, displayName: 'deep', testMatch: ['<rootDir>/test/deep/**/*.test.ts'] },
  ],
  // A test waits for a condition; how long that takes is the machine's affair. This only ends a wait in vain.
  testTimeout: 5 * 60_000,
  testSequencer: '<rootDir>/test/setup/sequencer.js',
  // Suites that run a stack wait half of their time; a worker grows to a gigabyte or two.
  maxWorkers: Math.max(2, Math.min(2 * os.availableParallelism(), Math.floor(os.totalmem() / (3 * 2 ** 30)))),
};
