import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findRowGrader } from '../../../src/evaluation/graders/find-row-grader';
import type { Row } from '../../../src/evaluation/graders/row-grader';
import { processSandboxes } from '../../../src/sandboxes/process-sandboxes';

/**
 * Reference solutions of real tasks score 1, and code that returns nothing scores 0. The data lies beside the repository
 * (EVERSTEP_DATA_DIR); where it is absent these tests are skipped. EVERSTEP_TEST_ALL_CODE runs every task, else every eighth.
 */

interface Tasks {
  readonly grader: string;
  readonly file: string;
  readonly gold: (row: Row) => string;
  readonly broken: (row: Row) => string;
}

const TASKS: readonly Tasks[] = [
  {
    grader: 'humaneval',
    file: 'humaneval/data.jsonl',
    gold: (row) => String(row['canonical_solution']),
    broken: () => '    return None\n',
  },
  {
    grader: 'mbpp',
    file: 'mbpp/data.jsonl',
    gold: (row) => `\`\`\`python\n${String(row['code'])}\n\`\`\``,
    broken: (row) =>
      `\`\`\`python\n${String(row['code']).replaceAll(/^(\s*)return\b.*$/gm, '$1return object()')}\n\`\`\``,
  },
  {
    grader: 'mbpp',
    file: 'mbpp/full.jsonl',
    gold: (row) => `\`\`\`python\n${String(row['code'])}\n\`\`\``,
    broken: () => '```python\npass\n```',
  },
];

afterAll(() => processSandboxes.close());

function pathOf(file: string): string {
  return join(process.env['EVERSTEP_DATA_DIR'] ?? resolve(__dirname, '../../../../shared/data'), file);
}

function rowsOf(file: string): Row[] {
  const rows = readFileSync(pathOf(file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
  const step = process.env['EVERSTEP_TEST_ALL_CODE'] === undefined ? 8 : 1;
  return rows.filter((_, index) => index % step === 0);
}

/** Tasks whose score is not the expected one. */
async function exceptions(
  { grader, file }: Tasks,
  completion: (row: Row) => string,
  expected: number,
): Promise<unknown[]> {
  const judged = rowsOf(file).map(async (row) => ({
    task: row['task_id'],
    score: await findRowGrader(grader).grade(completion(row), row),
  }));
  return (await Promise.all(judged)).filter(({ score }) => score.value !== expected);
}

describe.each(TASKS)('$file', (tasks) => {
  const given = existsSync(pathOf(tasks.file)) ? test : test.skip;

  given('reference solutions score 1', async () => {
    expect(await exceptions(tasks, tasks.gold, 1)).toEqual([]);
  });

  given('broken solutions score 0', async () => {
    expect(await exceptions(tasks, tasks.broken, 0)).toEqual([]);
  });
});
