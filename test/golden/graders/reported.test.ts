import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { findRowGrader } from '../../../src/evaluation/graders/find-row-grader';
import type { ResultLine } from '../../../src/evaluation/graders/grade-responses';
import { gradeResponses } from '../../../src/evaluation/graders/grade-responses';
import { processSandboxes } from '../../../src/sandboxes/process-sandboxes';

/**
 * Faults that people reported of other graders, with inputs of our own: `{case, grader, input, expected}` a line, where `input` is a
 * line as `everstep grade` reads it, and `expected` its score, or its answer where the grader reads a verdict. They lie beside the
 * repository (EVERSTEP_VECTORS_DIR); where they are absent this is skipped.
 */
const FILE = path.join(
  process.env['EVERSTEP_VECTORS_DIR'] ?? path.resolve(__dirname, '../../../../shared/vectors'),
  'reported/graders.jsonl',
);

interface Reported {
  readonly case: string;
  readonly about: string;
  readonly grader: string;
  readonly input: object;
  readonly expected: number | string | null;
}

afterAll(() => processSandboxes.close());

const cases = existsSync(FILE)
  ? readFileSync(FILE, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Reported)
  : [];

(cases.length > 0 ? test.each(cases) : test.skip.each([{ case: 'no vectors', about: FILE }] as Reported[]))(
  '$case: $about',
  async ({ grader: name, input, expected }) => {
    const grader = findRowGrader(name);
    const chunks = (async function* () {
      yield await Promise.resolve(Buffer.from(`${JSON.stringify(input)}\n`));
    })();

    const results: ResultLine[] = [];
    for await (const line of gradeResponses({ grader, name: 'case', chunks })) results.push(line);
    const [result] = results;

    const isVerdict = name.startsWith('judge_');
    expect(isVerdict ? result?.answer : result?.score).toBe(expected);
  },
);
