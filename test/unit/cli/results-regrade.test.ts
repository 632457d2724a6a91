import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCommand } from '../../../src/cli/commands/results';
import { allowNamed } from '../../../src/client/allow-named';
import { answerTo, Sums } from '../evaluation/regrade/sums';
import { evaluate } from '../evaluation/runner/evaluate-here';
import { modelThatSays } from '../evaluation/runner/fake-model';

let sums: Sums;
let stdout: string;

beforeEach(async () => {
  sums = new Sums();
  stdout = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  await evaluate(modelThatSays(answerTo).completer, sums.request());
  allowNamed(dataFolder(), { plugins: sums.file });
});

const dataFolder = () => join(sums.folder, 'state');

afterEach(() => {
  jest.restoreAllMocks();
});

async function results(...words: readonly string[]): Promise<string> {
  stdout = '';
  await createCommand().parseAsync([...words, '--store', sums.folder, '--data-dir', dataFolder()], {
    from: 'user',
  });
  return stdout;
}

const preview = async () =>
  JSON.parse(await results('regrade', 'eval-one', '--dry-run', '--json')) as { benchmarks: object[] };

test('a dry run says what would be graded, and what differs', async () => {
  const unchanged = await preview();
  sums.write({ grader: '() => 0' });
  const changed = await preview();

  const counts = { benchmark: 'sums', answered: 4, total: 4, score: 0.75 };
  expect(unchanged.benchmarks).toEqual([{ ...counts, changes: '', isDone: true }]);
  expect(changed.benchmarks).toMatchObject([
    { ...counts, isDone: false, changes: expect.stringMatching(/^the grader "sums@/) as string },
  ]);
});

test('shows that a score is of a second grading, and what it was before', async () => {
  sums.write({ grader: '() => 0' });
  await evaluate(modelThatSays(answerTo).completer, sums.request({ isRegrading: true }));

  expect(await results('show', 'eval-one')).toMatch(
    /graded again at \d{4}-.* by sums@\w+; before: 0\.75 by sums@\w+, kept in gradings\/1\/sums/,
  );
  expect(JSON.parse(await results('show', 'eval-one', '--json'))).toMatchObject({
    benchmarks: [{ score: 0, regraded: [{ before: { score: 0.75 } }] }],
  });
});

test('verdicts that flipped are found with the old ones', async () => {
  sums.write({ grader: "(reply) => Number(reply === '2')" });
  await evaluate(modelThatSays(answerTo).completer, sums.request({ isRegrading: true }));
  const old = `${sums.folder}/evals/eval-one/sums/gradings/1/sums`;

  const document = JSON.parse(
    await results('trajectories', 'eval-one', 'sums', '--flipped', old, '--json'),
  ) as { trajectories: { example_id: string }[] };

  expect(document.trajectories.map(({ example_id }) => example_id)).toEqual(['sum_2', 'sum_3']);
});

test.each([
  [['--benchmarks', 'gsm8k'], 'has no journal of gsm8k'],
  [[], 'refused'],
])('refuses what cannot be graded: %j', async (words, message) => {
  if (message === 'refused') sums.write({ prompt: '`${a}+1 = ?`' });

  const refused = results('regrade', 'eval-one', '--dry-run', ...words);

  await expect(refused).rejects.toThrow(
    message === 'refused' ? /other questions than there are now.*--answers-from eval-one/ : message,
  );
});

test('a dry run of results that came from elsewhere runs none of their code', async () => {
  const mark = join(sums.folder, 'was-run');
  const code = join(sums.folder, 'strange.js');
  writeFileSync(
    code,
    `require('node:fs').writeFileSync(${JSON.stringify(mark)}, ''); exports.benchmarks = {};`,
  );
  const plan = join(sums.folder, 'evals', 'eval-one', 'sums', 'journal', 'plan.json');
  writeFileSync(plan, readFileSync(plan, 'utf8').replaceAll(sums.file, code));

  await expect(results('regrade', 'eval-one', '--dry-run')).rejects.toThrow(/strange\.js, which no command/);

  expect(existsSync(mark)).toBe(false);
});
