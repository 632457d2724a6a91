import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findRowGrader } from '../../../src/evaluation/graders/find-row-grader';
import { CHECKS } from '../../../src/evaluation/graders/ifeval/checks';
import type { Row } from '../../../src/evaluation/graders/row-grader';

/**
 * Gold answers of real benchmark data score 1 and empty completions 0. The data lies beside the repository
 * (EVERSTEP_DATA_DIR); where it is absent these tests are skipped.
 */

interface Benchmark {
  readonly grader: string;
  readonly count: number;
  readonly gold: (row: Row) => string;
}

const letter = (index: unknown) => String.fromCharCode(65 + Number(index));

const BENCHMARKS: readonly Benchmark[] = [
  { grader: 'gsm8k', count: 1056, gold: (row) => String(row['answer']) },
  { grader: 'math500', count: 400, gold: (row) => String(row['solution']) },
  { grader: 'math500', count: 400, gold: (row) => `So $\\boxed{${String(row['answer'])}}$.` },
  { grader: 'mmlu_pro', count: 4011, gold: (row) => `The answer is (${String(row['answer'])}).` },
  { grader: 'mmlu_redux', count: 4560, gold: (row) => `The answer is ${letter(row['answer'])}` },
  { grader: 'longbench', count: 36, gold: (row) => `The correct answer is (${String(row['answer'])})` },
];

function dataFile(benchmark: string): string {
  const folder = process.env['EVERSTEP_DATA_DIR'] ?? resolve(__dirname, '../../../../shared/data');
  return join(folder, benchmark, 'data.jsonl');
}

function readRows(benchmark: string): Row[] {
  return readFileSync(dataFile(benchmark), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

async function scoresOf(
  name: string,
  rows: readonly Row[],
  completion: (row: Row) => string,
): Promise<Set<number>> {
  const grader = findRowGrader(name);
  const scores = rows.map(async (row) => (await grader.grade(completion(row), row)).value);
  return new Set(await Promise.all(scores));
}

describe.each(BENCHMARKS)('$grader', ({ grader, count, gold }) => {
  const given = existsSync(dataFile(grader)) ? test : test.skip;

  given('every gold answer scores 1, every empty completion 0', async () => {
    const rows = readRows(grader);

    expect(rows).toHaveLength(count);
    expect(await scoresOf(grader, rows, gold)).toEqual(new Set([1]));
    expect(await scoresOf(grader, rows, () => '')).toEqual(new Set([0]));
  });
});

describe('ifeval', () => {
  const given = existsSync(dataFile('ifeval')) ? test : test.skip;

  given('every instruction of the data can be checked, and a blank response follows none', async () => {
    const rows = readRows('ifeval');

    expect(rows).toHaveLength(433);
    expect(new Set(rows.flatMap((row) => row['instruction_id_list'] as string[]))).toEqual(
      new Set(Object.keys(CHECKS)),
    );
    expect(await scoresOf('ifeval', rows, () => ' \n')).toEqual(new Set([0]));
    expect(await scoresOf('ifeval', rows, (row) => String(row['prompt']))).toEqual(new Set([0, 1]));
  });
});
