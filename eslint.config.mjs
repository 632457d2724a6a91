import importX from 'eslint-plugin-import-x';
import sonarjs from 'eslint-plugin-sonarjs';
import tseslint from 'typescript-eslint';

const NO_CLOCK_OR_CHANCE = [
  'error',
  { object: 'Date', property: 'now', message: 'Pass the time in.' },
  { object: 'Math', property: 'random', message: 'Pass a seeded generator in.' },
  { object: 'process', property: 'env', message: 'Read the environment in src/config.' },
];

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'lib/**',
      'src/engines/local/kernels/**',
      'src/engines/tinker/generated/**',
      '**/*.js',
      '**/*.cjs',
      '**/*.mjs',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX, sonarjs },
    rules: {
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 3],
      'max-depth': ['error', 3],
      complexity: ['error', 10],
      'sonarjs/cognitive-complexity': ['error', 12],
      'no-console': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'object-shorthand': 'error',
      'require-atomic-updates': ['error', { allowProperties: true }],
      'no-warning-comments': ['error', { terms: ['fixme', 'hack', 'xxx', 'todo'], location: 'start' }],
      'import-x/no-default-export': 'error',
      'import-x/no-mutable-exports': 'error',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { prefer: 'type-imports', fixStyle: 'separate-type-imports' },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
    },
  },
  {
    files: ['src/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.object.name='Math'] > SpreadElement",
          message:
            'From about 125,000 values on this overflows the stack: src/core/extremes.ts takes any number.',
        },
      ],
    },
  },
  {
    files: ['src/core/**', 'src/evaluation/graders/**'],
    rules: { 'no-restricted-properties': NO_CLOCK_OR_CHANCE },
  },
  {
    files: ['src/**'],
    ignores: ['src/core/**', 'src/evaluation/graders/**', 'src/workflows/**', 'src/config/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read the environment in src/config.' },
      ],
    },
  },
  {
    files: ['test/**', 'bench/**', 'scripts/**'],
    rules: {
      'max-lines': 'off',
      'max-lines-per-function': 'off',
      'max-params': 'off',
      'no-console': 'off',
      '@typescript-eslint/consistent-type-assertions': 'off',
    },
  },
  {
    files: ['test/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          'CallExpression[callee.name=/^(test|beforeAll|afterAll|beforeEach|afterEach)$/] > Literal[raw=/^[0-9]/]',
          "CallExpression[callee.callee.property.name='each'] > Literal[raw=/^[0-9]/]",
          "CallExpression[callee.object.name='jest'][callee.property.name='setTimeout']",
        ].map((selector) => ({
          selector,
          message:
            'No limit of its own: how fast the machine is decides nothing (jest.config.js has the one for all).',
        })),
      ],
    },
  },
);
