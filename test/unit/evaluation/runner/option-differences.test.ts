import { differencesText, makingDifferences } from '../../../../src/evaluation/runner/option-differences';
import type { Making } from '../../../../src/evaluation/runner/option-differences';

const MADE: Making & { readonly identity: object } = {
  identity: {
    ...{ benchmarkVersion: 1, dataHash: 'aaaaaaaaaaaa', promptHash: 'pppppppppppp', graderVersion: 'g@1' },
    sampling: { temperature: 0, maxTokens: 8 },
    ...{ model: 'm', checkpoint: 'run@1' },
  },
  request: { model: { type: 'endpoint', url: 'http://a/v1', api: 'chat', model: 'm' } },
  systemPrompt: null,
  source: 'owner/data@1',
};

function changed(identity: object, others: object = {}): string {
  const now = { ...MADE, identity: { ...MADE.identity, ...identity }, ...others };
  return differencesText(makingDifferences(MADE, now));
}

test.each([
  [{ sampling: { temperature: 1, maxTokens: 8 } }, {}, '--temperature 0, and 1 is asked for'],
  [{ sampling: { temperature: 0 } }, {}, '--max-tokens 8, and unset is asked for'],
  [{ benchmarkVersion: 2 }, {}, 'the version of the benchmark 1, and 2 is asked for'],
  [{ graderVersion: 'g@2' }, {}, 'the grader "g@1", and "g@2" is asked for'],
  [{ checkpoint: 'run@2' }, {}, '"run@1", and "run@2" is asked for'],
  [{ promptHash: 'q' }, { systemPrompt: 'Be brief.' }, '--system-prompt unset, and "Be brief." is asked for'],
  [
    { promptHash: 'q' },
    { request: { model: { type: 'endpoint', url: 'http://a/v1', api: 'completions', model: 'm' } } },
    '--api "chat", and "completions" is asked for',
  ],
  [{ promptHash: 'q' }, {}, 'the prompt format (its hash) pppppppp, and q is asked for'],
  [
    { dataHash: 'b' },
    { request: { ...MADE.request, maxExamples: 50 } },
    '--max-examples unset, and 50 is asked for',
  ],
  [{ dataHash: 'b' }, { source: 'x' }, 'the dataset hash aaaaaaaa (owner/data@1), and b (x) is asked for'],
])('tells %j by the option, with both values', (identity, others, text) => {
  expect(changed(identity, others)).toContain(text);
});

test('tells everything that differs at once', () => {
  expect(changed({ benchmarkVersion: 2, sampling: { temperature: 1, maxTokens: 8 } })).toBe(
    'the version of the benchmark 1, and 2 is asked for; with --temperature 0, and 1 is asked for',
  );
});
