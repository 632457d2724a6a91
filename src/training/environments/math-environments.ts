import { DomainError } from '../../core/errors';
import type { Benchmark, HubRows } from '../../evaluation/benchmarks/benchmark';
import { GENERATION } from '../../evaluation/benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import { BOXED_SYSTEM_PROMPT } from '../../evaluation/benchmarks/questions/boxed-system-prompt';
import { makeExampleId } from '../../evaluation/example';
import type { Example } from '../../evaluation/example';
import { findBoxes } from '../../evaluation/graders/boxed';
import { mathEquivalence } from '../../evaluation/graders/math/math-graders';
import type { Row } from '../../evaluation/graders/row-grader';
import type { BenchmarkEnvironmentOptions } from './benchmark-environments';
import { benchmarkEnvironments } from './benchmark-environments';
import type { EnvironmentDataset } from './environment-dataset';
import { requireAsked } from './own-row';
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
    toExample: path === undefined ? mathExample : ownExample,
    systemPrompt: BOXED_SYSTEM_PROMPT,
    generation: GENERATION,
    grader: mathEquivalence,
  };
  const checkFormat = (completion: string) => findBoxes(completion).length > 0;
  return benchmarkEnvironments(benchmark, { ...options, checkFormat, split: 'train' }, ownRowsOr(read, path));
}

/** Of one's own nothing is left out without a word, but for problems without an answer, as proofs are. */
function ownExample(row: Row): Example | null {
  requireAsked(row, ['problem', 'question'].filter((name) => textOf(row, [name]) !== null).slice(0, 1));
  const example = mathExample(row);
  if (example?.target !== '') return example;
  throw new DomainError(
    'bad-dataset',
    'A row of mathematics has an empty "answer". Give the answer, or remove the row.',
  );
}

/** null for a problem whose solution boxes no answer. */
function mathExample(row: Row): Example | null {
  const problem = textOf(row, ['problem', 'question']);
  if (problem === null) {
    throw new DomainError('bad-dataset', 'A row of mathematics needs "problem" or "question", a text.');
  }
  const answer = textOf(row, ['answer', 'final_answer']);
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
