const os = require('node:os');

/** Tests run from the TypeScript sources; packages that ship only ES modules are compiled on the way in. */
const ESM_ONLY = [
  'hyparquet',
  'hyparquet-compressors',
  'hysnappy',
  '@huggingface',
  '@secretlint',
  'structured-source',
  'boundary',
];

module.exports = {
  testEnvironment: '<rootDir>/test/setup/environment.js',
  // test/deep holds long matrices, which `npm run test:deep` runs.
  testMatch: ['<rootDir>/test/!(deep)/**/*.test.ts'],
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
  // A test waits for a condition; how long that takes is the machine's affair. This only ends a wait in vain.
  testTimeout: 15 * 60_000,
  testSequencer: '<rootDir>/test/setup/sequencer.js',
  // Suites that run a stack wait half of their time; a worker grows to a gigabyte or two.
  maxWorkers: Math.max(2, Math.min(2 * os.availableParallelism(), Math.floor(os.totalmem() / (3 * 2 ** 30)))),
};
