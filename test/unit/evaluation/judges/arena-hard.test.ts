import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBenchmark } from '../../../../src/evaluation/benchmarks';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../../../src/evaluation/benchmarks/load-examples';
import type { Example } from '../../../../src/evaluation/example';
import { arenaHardRows, readArenaVerdict } from '../../../../src/evaluation/graders/arena-hard';
import { totalOfBattles } from '../../../../src/evaluation/graders/arena-hard-total';
import { GradingTotals } from '../../../../src/evaluation/graders/grading-summary';
import type { TotalledUnit } from '../../../../src/evaluation/graders/grader';
import { arenaHardMethod } from '../../../../src/evaluation/judges/methods/arena-hard';
import { messageText } from '../../../../src/evaluation/runner/message-text';
import { newFolder } from '../runner/fake-model';
import { deskThatSays, judgeCalled, judgesThatSay, openWith, promptOf } from './fake-judges';

const QUESTION: Example = {
  id: 'q_1',
  messages: [{ role: 'user', content: 'Write a proof.' }],
  target: null,
  row: { question_id: 'abc', category: 'hard_prompt', baseline_answer: 'the baseline' },
};
const METHOD = arenaHardMethod({ name: 'arena_hard', maxTokens: 4096 });

describe('the verdict', () => {
  test.each([
    ['My final verdict is tie: [[A=B]]', 'A=B'],
    ['[[A>B]] … no, [[B>>A]]', 'B>>A'],
    ['[[a>>b]]', 'A>>B'],
    ['[A<B]', 'A<B'],
    ['[[A>B]] and later [B>A]', 'A>B'],
    ['[[B<<A]]', 'B<<A'],
  ])('of %j is %s', (text, label) => {
    expect(readArenaVerdict(text)?.label).toBe(label);
  });

  test.each(['', 'A>>B', '[[C]]', '[[A>A]]', '[[A]]', '[[A>>>B]]', '[[A > B]]'])('of %j is none', (text) => {
    expect(readArenaVerdict(text)).toBeNull();
  });
});

test.each([
  ['[[A>>B]]', 1, 0, 'A>>B'],
  ['[[A>>B]]', 2, 1, 'A>>B'],
  ['[[A=B]]', 1, 0.5, 'A=B'],
  ['[[B>A]]', 1, 1, 'B>A'],
  ['[[B>A]]', 2, 0, 'B>A'],
  ['', 1, 0, null],
])('a stored judgement %s of game %i is %d for the model', async (text, game, value, answer) => {
  expect(await arenaHardRows.grade(text, { question_id: 'abc', game })).toMatchObject({ value, answer });
});

test('stored judgements are added up by question, as the official script does', async () => {
  const totals = new GradingTotals(arenaHardRows);
  const judgements = [
    ['a', 1, '[[B>>A]]'],
    ['a', 2, '[[A=B]]'],
    ['b', 1, '[[A>B]]'],
    // Of the same question, so that its other game does not count either.
    ['b', 2, 'I cannot decide.'],
    ['c', 2, '[[B>A]]'],
    ['c', 1, '[[A=B]]'],
    ['d', 1, ''],
    ['d', 2, ''],
  ] as const;
  for (const [question_id, game, text] of judgements) {
    const {
      value: score,
      answer,
      metrics = {},
      details = {},
    } = await arenaHardRows.grade(text, { question_id, game });
    totals.add({ score, answer, metrics, details });
  }

  // Three battles won and a tie; one lost and a tie.
  expect(totals.summary()).toMatchObject({
    count: 8,
    unansweredCount: 3,
    metrics: { win_rate: (3 + 0.5 + 0 + 0.5) / 6, num_unparsed: 2, unparsed: 3 / 8 },
  });
});

test.each([{ question_id: 'abc' }, { question_id: 'abc', game: 3 }, { game: 1 }])(
  'refuses the row %j',
  (row) => {
    expect(() => arenaHardRows.grade('[[A=B]]', row)).toThrow(/"game"|question_id/);
  },
);

describe('a question', () => {
  const judged = (first: string, second: string) =>
    METHOD.vote(deskThatSays(({ stage }) => (stage === 'game-1' ? first : second)).desk, 'mine', QUESTION);

  test.each([
    ['[[B>>A]]', '[[A>>B]]', 6, 6],
    ['[[B>A]]', '[[A=B]]', 1.5, 2],
    ['[[A>>B]]', '[[A>B]]', 1, 4],
    ['[[A=B]]', '[[B>>A]]', 0.5, 4],
  ])('with %s and %s has %d points of %d', async (first, second, points, weight) => {
    expect(await judged(first, second)).toMatchObject({
      value: points / weight,
      metrics: { battle_points: points, battle_weight: weight },
    });
  });

  test('with one label alone has none', async () => {
    expect((await judged('[[B>A]]', 'I cannot say')).answer).toBeNull();
  });

  test('is asked as officially, with the baseline first and then second', async () => {
    const { desk, questions } = deskThatSays(() => '[[A=B]]');

    await METHOD.vote(desk, 'mine', QUESTION);

    expect(questions.map(promptOf)).toEqual([
      "<|User Prompt|>\nWrite a proof.\n\n<|The Start of Assistant A's Answer|>\nthe baseline\n<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's Answer|>\nmine\n<|The End of Assistant B's Answer|>",
      "<|User Prompt|>\nWrite a proof.\n\n<|The Start of Assistant A's Answer|>\nmine\n<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's Answer|>\nthe baseline\n<|The End of Assistant B's Answer|>",
    ]);
    expect(questions.map(({ maxTokens }) => maxTokens)).toEqual([4096, 4096]);
  });

  test('of creative writing is judged without an answer of the judge’s own', async () => {
    const { desk, questions } = deskThatSays(() => '[[A=B]]');

    await METHOD.vote(desk, 'mine', QUESTION);
    await METHOD.vote(desk, 'mine', { ...QUESTION, row: { ...QUESTION.row, category: 'creative_writing' } });

    const systems = questions.map(({ messages }) => messages.map(messageText).join());
    expect(systems.map((text) => text.includes('generating your own answer'))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

/** What a judged question leaves in the journal. */
async function unitOf(exampleId: string, [first, second]: readonly [string, string]): Promise<TotalledUnit> {
  const { access } = judgesThatSay(({ messages }) =>
    promptOf({ messages }).includes("A's Answer|>\nthe baseline") ? first : second,
  );
  const { grader, close } = await openWith(findBenchmark('arena_hard').grader, access);
  const { value, metrics = {} } = await grader.grade('mine', QUESTION);
  await close();
  return { exampleId, cluster: null, value, metrics, isComplete: true };
}

describe('the score', () => {
  /*
   * The battles of show_result.py: game 2 as it stands, game 1 turned round, strong verdicts three times.
   * a: 1 1 1 | 1 1 1   b: 0.5 | 1   c: 0 | 0 0 0   d: null
   */
  const GAMES: readonly (readonly [string, string])[] = [
    ['[[B>>A]]', '[[A>>B]]'],
    ['[[B>A]]', '[[A=B]]'],
    ['[[A>>B]]', '[[B>A]]'],
    ['[[A>B]]', 'no verdict'],
  ];

  test('is the mean of all battles, questions without two verdicts left out and counted', async () => {
    const units = await Promise.all(GAMES.map((games, index) => unitOf(`q_${index}`, games)));

    const total = totalOfBattles(units);

    expect(total.score).toBeCloseTo((6 + 1.5 + 0) / (6 + 2 + 4));
    expect(total.metrics).toMatchObject({ num_unparsed: 1 });
    expect(total.metrics?.['arena_hard/hard_prompt']).toBeCloseTo(7.5 / 12);
    const [low = 0, high = 0] = total.ci ?? [];
    expect(low).toBeLessThan(total.score ?? 0);
    expect(high).toBeGreaterThan(total.score ?? 0);
    expect(total.metrics?.['official_low']).toBeLessThan(total.metrics?.['official_high'] ?? 0);
    expect(totalOfBattles(units)).toEqual(total);
  });

  test('of answers that failed or were cut off loses both games', async () => {
    const won = await unitOf('a', ['[[B>A]]', '[[A>B]]']);
    const failed: TotalledUnit = {
      exampleId: 'b',
      cluster: null,
      value: 0,
      metrics: {},
      isComplete: false,
    };

    expect(totalOfBattles([won, failed])).toMatchObject({ score: 0.5, score_completed: 1, num_completed: 1 });
  });

  test('of several judges pools their battles', async () => {
    const { access } = judgesThatSay((_request, model) => (model === 'strong' ? '[[A>>B]]' : '[[A=B]]'));
    const { grader, close } = await openWith(findBenchmark('arena_hard').grader, access, {
      judges: [judgeCalled('strong'), judgeCalled('weak')],
    });

    const score = await grader.grade('mine', QUESTION);
    await close();

    // strong: 0 0 0 and 1 1 1; weak: 0.5 and 0.5
    expect(score).toMatchObject({ value: 4 / 8, metrics: { battle_points: 4, battle_weight: 8 } });
  });
});

describe('questions and baseline answers', () => {
  function place(files: Readonly<Record<string, readonly object[]>>): string {
    const folder = newFolder();
    for (const [name, rows] of Object.entries(files)) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    }
    return folder;
  }

  async function examplesIn(folder: string, name = 'arena_hard') {
    const read = createBenchmarkRowReader({ hub: { cacheFolder: folder }, dataFolder: folder });
    return (await loadExamples(findBenchmark(name), read)).examples;
  }

  const OLD = {
    question_id: 'a',
    category: 'arena-hard-v0.1',
    cluster: 'Sums',
    turns: [{ content: 'What is 1 + 1?' }],
  };
  const NEW = { uid: 'b', category: 'creative_writing', subcategory: 'poem', prompt: 'Rhyme.' };

  test.each([
    [
      'as published',
      'model_answer/gpt-4-0314.jsonl',
      {
        uid: 'a',
        model: 'gpt-4-0314',
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: { answer: 'Two.' } },
        ],
      },
    ],
    [
      'as published before',
      'model_answer/gpt-4-0314.jsonl',
      { question_id: 'a', choices: [{ index: 0, turns: [{ content: 'Two.' }] }] },
    ],
    ['of one’s own', 'baseline.jsonl', { question_id: 'a', answer: 'Two.' }],
  ])('%s are brought together', async (_how, file, answer) => {
    const folder = place({ 'arena_hard/data.jsonl': [OLD], [`arena_hard/${file}`]: [answer] });

    const [example] = await examplesIn(folder);

    expect(example?.messages).toEqual([{ role: 'user', content: 'What is 1 + 1?' }]);
    expect(example?.row).toMatchObject({ question_id: 'a', baseline: 'gpt-4-0314', baseline_answer: 'Two.' });
  });

  test('of v2 lie beside those of v0.1, each with the baseline of its category', async () => {
    const answer = { uid: 'b', messages: [{ role: 'assistant', content: { answer: 'Cat, hat.' } }] };
    const folder = place({
      'arena_hard/v2.jsonl': [NEW],
      'arena_hard/model_answer/gemini-2.0-flash-001.jsonl': [answer],
    });

    const [example] = await examplesIn(folder, 'arena_hard_v2');

    expect(example?.row).toMatchObject({ category: 'creative_writing', baseline_answer: 'Cat, hat.' });
  });

  test('a row may bring its own', async () => {
    const folder = place({ 'arena_hard/data.jsonl': [{ ...OLD, baseline_answer: 'Two!' }] });

    expect((await examplesIn(folder))[0]?.row).toMatchObject({ baseline_answer: 'Two!' });
  });

  test('a question without one is refused, with the place for it', async () => {
    const folder = place({ 'arena_hard/data.jsonl': [OLD] });

    await expect(examplesIn(folder)).rejects.toThrow(/no answer of gpt-4-0314 to question a.*model_answer/);
  });
});
