import regexp from 'eslint-plugin-regexp';
import sonarjs from 'eslint-plugin-sonarjs';
import tseslint from 'typescript-eslint';

/** The rules that oxlint has not; all others, those that know types among them, are in .oxlintrc.json. */
export default tseslint.config(
  {
    ignores: [
      'dist/**',
      '.cache/**',
      'lib/**',
      'src/engines/local/kernels/**',
      'src/engines/tinker/generated/**',
      '**/*.js',
      '**/*.cjs',
      '**/*.mjs',
    ],
  },
  {
    files: ['**/*.ts'],
    languageOptions: { parser: tseslint.parser },
    plugins: { sonarjs },
    rules: {
      'sonarjs/cognitive-complexity': ['error', 12],
      'require-atomic-updates': ['error', { allowProperties: true }],
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
        {
          selector: "CallExpression[callee.object.name='AbortSignal'][callee.property.name='any']",
          message:
            'It forgets time limits that nobody else holds: src/core/concurrency/any-signal.ts does not.',
        },
      ],
    },
  },
  {
    // Foreign texts of megabytes meet these expressions: none may take time that grows with the square of one. Formulas are short
    // before any expression sees them (src/evaluation/graders/math/formula-size.ts).
    files: ['src/**'],
    ignores: ['src/evaluation/graders/math/!(find-answer).ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-move': ['error', { ignoreSticky: true }],
      'regexp/no-super-linear-backtracking': 'error',
    },
  },
  {
    // What the rules cannot see: somebody typed it; a reply is cut to 32,768 characters before; what one part gives up, a later one
    // takes; what begins somewhere also ends there.
    files: [
      'src/cli/commands/backfill.ts',
      'src/evaluation/graders/bfcl/foreign-values.ts',
      'src/renderers/tokenizers/tiktoken-tokenizer.ts',
      'src/evaluation/graders/ifeval/sentences.ts',
    ],
    rules: { 'regexp/no-super-linear-move': 'off', 'regexp/no-super-linear-backtracking': 'off' },
  },
  { files: ['src/core/concurrency/any-signal.ts'], rules: { 'no-restricted-syntax': 'off' } },
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
