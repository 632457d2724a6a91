import { DomainError } from '../../core/errors';
import type { Benchmark, HubRows } from '../../evaluation/benchmarks/benchmark';
import { GENERATION } from '../../evaluation/benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import { BOXED_SYSTEM_PROMPT } from '../../evaluation/benchmarks/questions/boxed-system-prompt';
import { makeExampleId } from '../../evaluation/example';
import type { Example } from '../../evaluation/example';
import { findBoxes } from '../../evaluation/graders/boxed';
import { findReference, requireReference } from '../../evaluation/graders/math/math-equivalence';
import { mathEquivalence } from '../../evaluation/graders/math/math-graders';
import type { Row } from '../../evaluation/graders/row-grader';
import type { BenchmarkEnvironmentOptions } from './benchmark-environments';
import { benchmarkEnvironments } from './benchmark-environments';
import type { EnvironmentDataset } from './environment-dataset';
import { isSaid, requireAsked } from './own-row';
import { ownRowsOr } from './own-rows';

export interface MathOptions extends Omit<BenchmarkEnvironmentOptions, 'split'> {
  readonly dataset: keyof typeof MATH_DATASETS;
  /** Rows of one's own in place of a dataset of the hub. */
  readonly path?: string | undefined;
}

const hub = (name: string, configs?: readonly string[]): HubRows => ({
  hub: name,
  revision: null,
  split: 'train',
  ...(configs && { configs }),
});

/** What the field trains on; a run records the commit that it read. */
const MATH_DATASETS = {
  math: hub('EleutherAI/hendrycks_math', [
    'algebra',
    'counting_and_probability',
    'geometry',
    'intermediate_algebra',
    'number_theory',
    'prealgebra',
    'precalculus',
  ]),
  polaris: hub('POLARIS-Project/Polaris-Dataset-53K'),
  deepmath: hub('zwhe99/DeepMath-103K'),
} satisfies Record<string, HubRows>;

/** Mathematics with the answer in a box, right when it is mathematically equal to the reference. */
export async function mathEnvironments(
  options: MathOptions,
  read: ReadBenchmarkRows,
): Promise<EnvironmentDataset> {
  const { dataset, path } = options;
  const benchmark: Benchmark = {
    name: path === undefined ? `${dataset}_train` : 'math',
    version: 1,
    description: 'Mathematics to train on',
    comparableWith: 'Nothing published.',
    data: MATH_DATASETS[dataset],
    orderSeed: null,
    toExample: path === undefined ? hubExample : ownExample,
    systemPrompt: BOXED_SYSTEM_PROMPT,
    generation: GENERATION,
    grader: mathEquivalence,
  };
  const checkFormat = (completion: string) => findBoxes(completion).length > 0;
  return benchmarkEnvironments(benchmark, { ...options, checkFormat, split: 'train' }, ownRowsOr(read, path));
}

const PROBLEM = ['problem', 'question'];
const ANSWER = ['answer', 'final_answer'];

/** Of one's own nothing is left out without a word, but for problems without an answer, as proofs are. */
function ownExample(row: Row): Example | null {
  const asked = PROBLEM.filter((name) => isSaid(row[name])).slice(0, 1);
  requireAsked(row, asked, PROBLEM);
  requireAnswerForm(row);
  const example = mathExample(row, asked);
  if (example === null) return null;
  requireReference(example.target);
  return example;
}

/** Where the solution would be taken in its place. */
function requireAnswerForm(row: Row): void {
  const given = ANSWER.filter((name) => row[name] !== undefined && row[name] !== null);
  const other = given.find((name) => !['string', 'number'].includes(typeof row[name]));
  if (other !== undefined) throw new DomainError('bad-dataset', `field "${other}": has to be a text.`);
  const empty = given.slice(0, 1).find((name) => !isSaid(row[name]));
  if (empty === undefined) return;
  throw new DomainError(
    'bad-dataset',
    `A row of mathematics has an empty "${empty}". Give the answer, or remove the row.`,
  );
}

/** Nothing can be done here about a row of the hub whose reference holds no answer. */
function hubExample(row: Row): Example | null {
  const example = mathExample(row, PROBLEM);
  return example === null || findReference(example.target) === null ? null : example;
}

/** null for a problem whose solution boxes no answer. */
function mathExample(row: Row, asked: readonly string[]): (Example & { readonly target: string }) | null {
  const problem = textOf(row, asked);
  if (problem === null) {
    throw new DomainError(
      'bad-dataset',
      'A row of mathematics needs "problem" or "question", a text that is not empty.',
    );
  }
  const answer = textOf(row, ANSWER);
  const solution = textOf(row, ['solution']);
  if (answer === null && solution === null) {
    throw new DomainError(
      'bad-dataset',
      'A row of mathematics needs "answer", or "solution" with the answer in \\boxed{}, a text.',
    );
  }
  const target = answer ?? boxedIn(solution);
  if (target === null) return null;
  return { id: makeExampleId('math', problem), messages: [{ role: 'user', content: problem }], target };
}

function boxedIn(solution: string | null): string | null {
  return solution === null ? null : (findBoxes(solution).at(-1)?.content ?? null);
}

function textOf(row: Row, names: readonly string[]): string | null {
  const values = names.map((name) => row[name]);
  const found = values.find((value) => typeof value === 'string' || typeof value === 'number');
  if (typeof found === 'number' && Number.isInteger(found) && !Number.isSafeInteger(found)) {
    throw new DomainError(
      'bad-dataset',
      `${names.map((name) => `"${name}"`).join(' or ')} is a number of more digits than numbers keep here. Write it as a text.`,
    );
  }
  return found === undefined ? null : String(found);
}
