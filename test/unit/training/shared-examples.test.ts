import { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { toConversation } from '../../../src/datasets/rows';
import { sharedRemarks, trainedExamples } from '../../../src/training/shared-examples';

/** A question and its answer, or a text alone. */
type Row = readonly [string, string] | readonly [string];

const rowsOf = (rows: readonly Row[]) =>
  rows.map(([first, reply], index) => ({
    ...toConversation({
      messages: [
        ...(reply === undefined ? [] : [{ role: 'user', content: first }]),
        { role: 'assistant', content: reply ?? first },
      ],
    }),
    place: `held-out.jsonl line ${index + 1}`,
  }));

const nll = EvaluatorConfig.parse({ type: 'nll', name: 'test', dataset: { path: 'held-out.jsonl' } });

async function remarksOf(train: readonly Row[], heldOut: readonly Row[]): Promise<string[]> {
  const reading = () =>
    Promise.resolve({
      rows: rowsOf(heldOut),
      contentHash: 'x',
      source: { description: 'held-out.jsonl', files: [] },
      skipped: [],
    });
  const benchmark = EvaluatorConfig.parse('arithmetic');
  return sharedRemarks(reading, trainedExamples(rowsOf(train)), { test: nll, arithmetic: benchmark });
}

const REMEDY = 'Remove them from one of the two, or read its scores as memory.';

test('examples that are trained on are counted, whatever their case and space, and the first is named', async () => {
  const train: Row[] = [['What is 1 + 1?', '2'], ['other', 'more'], ['alone in the corpus']];

  expect(await remarksOf(train, [['new', '2'], ['what is  1 + 1?', '2'], ['Alone in the corpus ']])).toEqual([
    `Evaluator "test" measures what is trained on: 2 of its 3 examples also stand among the training rows, the first "what is 1 + 1?". ${REMEDY}`,
  ]);
});

test('the same question with another reply is counted by itself', async () => {
  const train: Row[] = [
    ['What is 1 + 1?', '2'],
    ['other', 'more'],
  ];

  expect(
    await remarksOf(train, [
      ['What is 1 + 1?', 'two'],
      ['new', 'x'],
    ]),
  ).toEqual([
    `Evaluator "test" measures what is trained on: 1 of 2 ask the same as training rows do and expect another reply, the first "What is 1 + 1?". ${REMEDY}`,
  ]);
});

test.each<[string, readonly Row[], readonly Row[]]>([
  ['where nothing is shared', [['What is 1 + 1?', '2']], [['What is 1 + 2?', '3']]],
  [
    'of an instruction that every row begins with',
    [
      ['Write.', 'a'],
      ['Write.', 'b'],
    ],
    [['Write.', 'c']],
  ],
  ['of texts that nothing is asked before', [['one text'], ['a second']], [['a third']]],
])('nothing is said %s', async (_where, train, heldOut) => {
  expect(await remarksOf(train, heldOut)).toEqual([]);
});
