import { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { toConversation } from '../../../src/datasets/rows';
import { questionsOf, sharedRemarks } from '../../../src/training/shared-questions';

const rowsOf = (...questions: readonly string[]) =>
  questions.map((question, index) => ({
    ...toConversation({
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: `answer ${index}` },
      ],
    }),
    place: `held-out.jsonl line ${index + 1}`,
  }));

const nll = EvaluatorConfig.parse({ type: 'nll', name: 'test', dataset: { path: 'held-out.jsonl' } });

async function remarksOf(train: readonly string[], heldOut: readonly string[]): Promise<string[]> {
  const reading = () =>
    Promise.resolve({
      rows: rowsOf(...heldOut),
      contentHash: 'x',
      source: { description: 'held-out.jsonl', files: [] },
      skipped: [],
    });
  const benchmark = EvaluatorConfig.parse('arithmetic');
  return sharedRemarks(reading, questionsOf(rowsOf(...train)), { test: nll, arithmetic: benchmark });
}

test('examples that are trained on are counted, whatever their case and space, and the first is named', async () => {
  expect(await remarksOf(['What is 1 + 1?', 'other'], ['new', 'what is  1 + 1?', 'What is 1 + 1? '])).toEqual(
    [
      'Evaluator "test" asks what is trained on: 2 of its 3 examples also stand among the training rows, the first held-out.jsonl line 2. Remove them from one of the two, or read its scores as memory.',
    ],
  );
});

test('nothing is said where nothing is shared', async () => {
  expect(await remarksOf(['What is 1 + 1?'], ['What is 1 + 2?'])).toEqual([]);
});
