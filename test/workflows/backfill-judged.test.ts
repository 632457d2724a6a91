import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import type { MatrixCell } from '../../src/core/backfill';
import { loadResult } from '../../src/stores/eval-store';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { TestRuns } from './harness/runs';
import { TestStack } from './harness/stack';

/** Checkpoints of a run that has ended get scores that a judge decides: as columns of a backfill, and by the run's own evaluators. */

const QUESTIONS = 4;
const STEPS = [2, 4];

let stack: TestStack;
let everstep: Everstep;
let data: string;
let endpoint: JudgeEndpoint;

/**
 * Who answers for the model is known by what the other answer is. Facts: the last question is wrong. Pairs: the model wins the first two,
 * loses the third, and of the last whoever is first wins. Arena-Hard: the model loses the last question alone.
 */
function say(_model: string, prompt: string): string {
  const expert = /\[(Expert|Answer A|Answer B)\]: expert (\d)/.exec(prompt);
  if (expert?.[1] === 'Expert') return Number(expert[2]) < 3 ? 'GRADE: C' : 'GRADE: I';
  if (expert) return preference(expert[1] === 'Answer A' ? 'A' : 'B', Number(expert[2]));
  const isFirstGame = prompt.includes("A's Answer|>\nbaseline");
  if (prompt.includes('\nbaseline 3')) return isFirstGame ? '[[A>B]]' : '[[B>A]]';
  return isFirstGame ? '[[B>A]]' : '[[A>>B]]';
}

function preference(expert: 'A' | 'B', question: number): string {
  if (question === 3) return '[[A]]';
  const model = expert === 'A' ? 'B' : 'A';
  return `[[${question === 2 ? expert : model}]]`;
}

function write(file: string, rowOf: (index: number) => object): string {
  const rows = Array.from({ length: QUESTIONS }, (_, index) => `${JSON.stringify(rowOf(index))}\n`);
  writeFileSync(file, rows.join(''));
  return file;
}

beforeAll(async () => {
  stack = await TestStack.start();
  data = join(stack.folder, 'benchmarks');
  mkdirSync(join(data, 'arena_hard'), { recursive: true });
  write(join(data, 'arena_hard/data.jsonl'), (index) => ({
    ...{ question_id: `q${index}`, category: 'arena-hard-v0.1', turns: [{ content: `${index}+${index}=` }] },
    baseline_answer: `baseline ${index}`,
  }));
  const path = write(join(stack.folder, 'questions.jsonl'), (index) => ({
    messages: [
      { role: 'user', content: `${index}+${index}=` },
      { role: 'assistant', content: `expert ${index}` },
    ],
  }));
  endpoint = await JudgeEndpoint.start(say);
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
  await stack.startWorkers();
  const shared = { dataset: { path }, maxTokens: 8, judge: judge() };
  const evaluators = [
    { type: 'modelGraded', name: 'graded', method: 'fact', ...shared },
    { type: 'comparison', name: 'versus', baseline: 'target', ...shared },
  ];
  const runs = new TestRuns(stack);
  // Step 2 is saved and not evaluated.
  await runs.train('ended', runs.config({ steps: 4, saveEvery: 2, evalEvery: 4, evaluators }));
});

afterAll(async () => {
  await endpoint.close();
  await everstep.close();
  await stack.stop();
});

/** What it said of the same answers at other steps is not used, so that every judgement is counted. */
function judge() {
  return { model: 'referee', endpoint: endpoint.url, cache: false };
}

async function sampledTokens(): Promise<number> {
  const text = await (await fetch(`${stack.engine.url}/metrics`)).text();
  return Number(/tokens_sampled_total (\d+)/.exec(text)?.[1]);
}

/** What something costs at the engine and at the judge. */
async function costOf<T>(work: () => Promise<T>) {
  const [tokens, judgements] = [await sampledTokens(), endpoint.countOf('referee')];
  const value = await work();
  return {
    value,
    tokens: (await sampledTokens()) - tokens,
    judgements: endpoint.countOf('referee') - judgements,
  };
}

async function fill(): Promise<readonly MatrixCell[]> {
  const handle = await everstep.backfill({
    ...{ runs: ['ended'], benchmarks: ['arena_hard'], dataFolder: data, maxTokens: 64, steps: '2,4' },
    judge: [judge()],
  });
  const outcome = await handle.result();
  if (outcome && 'value' in outcome) return outcome.value.cells;
  throw new Error(JSON.stringify(outcome));
}

test('a judged column is sampled and judged once for each checkpoint, and then it is there', async () => {
  const first = await costOf(fill);
  const again = await costOf(fill);

  // Three won, by one battle and by three; one lost by one battle twice.
  const score = expect.closeTo(12 / 14, 12) as number;
  const cell = { benchmark: 'arena_hard', score, numExamples: QUESTIONS, numErrors: 0 };
  expect(first.value).toMatchObject(STEPS.map((step) => ({ ...cell, step, status: 'done' })));
  expect(again.value).toMatchObject(STEPS.map((step) => ({ ...cell, step, status: 'present' })));
  expect(first.tokens).toBeGreaterThan(0);
  expect(first.judgements).toBe(STEPS.length * 2 * QUESTIONS);
  expect([again.tokens, again.judgements]).toEqual([0, 0]);
  const judged = await loadResult(join(first.value[0]?.dir ?? '', '..'), 'arena_hard');
  expect(judged?.identity.judges).toMatchObject([{ model: 'referee', at: endpoint.url }]);
});

test.each([
  ['graded', 'test/graded/accuracy', 3 / 4, QUESTIONS],
  ['versus', 'test/versus/win_rate', 2.5 / 4, 2 * QUESTIONS],
])(
  'the evaluator %s of the run scores a step it was not due at, once',
  async (evaluator, key, value, judgements) => {
    const score = async () => (await everstep.evaluateWith(evaluator, { checkpoint: 'ended@2' })).result();
    const scheduled = (await stack.store.readScores('ended')).filter(
      (row) => row.key === key && row.step === 2,
    );

    const first = await costOf(score);
    const again = await costOf(score);

    expect(scheduled).toEqual([]);
    expect(first.value).toMatchObject({ value: { evaluator, scores: [{ key, value, n: QUESTIONS }] } });
    expect(again.value).toMatchObject({ value: { scores: [{ key, value, n: QUESTIONS }] } });
    expect(first.judgements).toBe(judgements);
    expect(first.tokens).toBeGreaterThan(0);
    expect([again.tokens, again.judgements]).toEqual([0, 0]);
  },
);
