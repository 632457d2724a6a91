import type { Example } from '../example';
import type { Grader } from '../graders/grader';

interface GenerationDefaults {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
}

/** A benchmark is a declaration; one file each, listed by hand in `index.ts`. */
export interface Benchmark {
  readonly name: string;
  /** Rises with every change that moves the score. */
  readonly version: number;
  /** What it asks, how the answer is found, what it may be compared with. */
  readonly description: string;
  readonly generation: GenerationDefaults;
  readonly grader: Grader;
  /** All examples in the benchmark's own seeded order, so that the first n are a fair sample. */
  examples(): Example[];
}
