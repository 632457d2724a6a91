import type { Benchmark, HubRows } from '../../evaluation/benchmarks/benchmark';
import { GENERATION } from '../../evaluation/benchmarks/benchmark';
import type { ReadBenchmarkRows } from '../../evaluation/benchmarks/benchmark-rows';
import { BOXED_SYSTEM_PROMPT } from '../../evaluation/benchmarks/questions/boxed-system-prompt';
import type { Example } from '../../evaluation/example';
import { findBoxes } from '../../evaluation/graders/boxed';
import { findReference } from '../../evaluation/graders/math/math-equivalence';
import { mathEquivalence } from '../../evaluation/graders/math/math-graders';
import type { Row } from '../../evaluation/graders/row-grader';
import type { BenchmarkEnvironmentOptions } from './benchmark-environments';
import { benchmarkEnvironments } from './benchmark-environments';
import type { EnvironmentDataset } from './environment-dataset';
import { mathExample, ownMathExample, PROBLEM } from './own-math-row';
import { ownRowsOr } from './own-rows';

export interface MathOptions extends Omit<BenchmarkEnvironmentOptions, 'split'> {
  readonly dataset: keyof typeof MATH_DATASETS;
  /** Rows of one's own in place of a dataset of the hub. */
  readonly path?: string | undefined;
  /** Fields of those rows that say nothing to the model. */
  readonly ignoreKeys?: readonly string[] | undefined;
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

const WITHOUT_ANSWER = 'it has no answer to judge by (a proof, or a solution that boxes none).';

/** Mathematics with the answer in a box, right when it is mathematically equal to the reference. */
export async function mathEnvironments(
  options: MathOptions,
  read: ReadBenchmarkRows,
): Promise<EnvironmentDataset> {
  const { dataset, path, ignoreKeys = [] } = options;
  const benchmark: Benchmark = {
    name: path === undefined ? `${dataset}_train` : 'math',
    version: 1,
    description: 'Mathematics to train on',
    comparableWith: 'Nothing published.',
    data: MATH_DATASETS[dataset],
    orderSeed: null,
    toExample: path === undefined ? hubExample : (row) => ownMathExample(row, ignoreKeys),
    systemPrompt: BOXED_SYSTEM_PROMPT,
    generation: GENERATION,
    grader: mathEquivalence,
  };
  const checkFormat = (completion: string) => findBoxes(completion).length > 0;
  const own = path === undefined ? {} : { whyLeftOut: WITHOUT_ANSWER };
  return benchmarkEnvironments(
    benchmark,
    { ...options, ...own, checkFormat, split: 'train' },
    ownRowsOr(read, path),
  );
}

/** Nothing can be done here about a row of the hub whose reference holds no answer. */
function hubExample(row: Row): Example | null {
  const example = mathExample(row, PROBLEM);
  return example === null || findReference(example.target) === null ? null : example;
}
