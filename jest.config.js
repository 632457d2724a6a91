/**
 * Which tests there are, in two projects that `npm test` (quick) and `npm run test:stack` (stack) select; `npx jest PATTERN` finds the tests
 * of both. The stories of the quick one are those that carry what the product promises.
 */
const STORIES = [
  'workflows/train-supervised',
  'workflows/train-reinforcement',
  'workflows/rewinds',
  'workflows/failures',
  'workflows/killed-between',
  'workflows/run-benchmark',
  'workflows/library',
  'e2e/commands',
].map((story) => `<rootDir>/test/${story}.test.ts`);

/** Packages that ship only ES modules are compiled on the way in. */
const ESM_ONLY = ['hyparquet', 'hyparquet-compressors', 'hysnappy', '@huggingface'];

/** Tests run from the TypeScript sources. */
const SHARED = {
  testEnvironment: 'node',
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
      testMatch: ['<rootDir>/test/!(workflows|e2e)/**/*.test.ts', ...STORIES],
    },
    {
      ...SHARED,
      displayName: 'stack',
      testMatch: ['<rootDir>/test/{workflows,e2e}/**/*.test.ts', ...STORIES.map((story) => `!${story}`)],
    },
  ],
  // A test waits for a condition; how long that takes is the machine's affair. This only ends a wait in vain.
  testTimeout: 5 * 60_000,
  maxWorkers: 2,
};
