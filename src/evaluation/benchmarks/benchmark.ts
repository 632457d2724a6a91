import type { MessageEnvironment } from '../../core/environment';
import type { Example } from '../example';
import type { Grader } from '../graders/grader';
import type { Row } from '../graders/row-grader';

export interface GenerationDefaults {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
}

/** Defaults of the field for benchmarks that do not say. */
export const GENERATION: GenerationDefaults = { maxTokens: 32_768, temperature: 0.6, topP: 1 };

/** Rows on the Hugging Face hub; `EVERSTEP_DATA_DIR/<benchmark>/data.jsonl` goes before it. */
export interface HubRows {
  /** `owner/name`. */
  readonly hub: string;
  /** A commit, else a branch. null: the newest when it is first read. What was read is recorded with the result. */
  readonly revision: string | null;
  readonly split: string;
  /** Subsets, read one after another; default: the only one. */
  readonly configs?: readonly string[];
  /** Field of each row that the name of its subset is put in. */
  readonly configField?: string;
  /** Files by name, where the split's cannot be told from their names. */
  readonly files?: readonly string[];
  /** Rows with the same value under this field are parts of one, e.g. of a file of questions and one of answers. */
  readonly joinBy?: string;
  /** Where the rows may be in EVERSTEP_DATA_DIR, the first that is there; default `<benchmark>/data.jsonl`. */
  readonly local?: readonly string[];
  /** Adds to each row what lies beside the rows in a folder of EVERSTEP_DATA_DIR; null without one. */
  readonly completeFrom?: (folder: string | null) => Promise<(row: Row) => Row>;
}

/** Rows of a file of the user's, as plug-ins bring them. */
interface FileRows {
  /** JSONL, JSON, Parquet or CSV. */
  readonly path: string;
}

/** Rows made by code, the same on every call. */
interface OwnRows {
  readonly rows: () => readonly Row[];
}

/** A benchmark is a declaration; one file each, listed by hand in `index.ts`. */
export interface Benchmark {
  /** With underscores. */
  readonly name: string;
  /** Rises with every change that moves the score. */
  readonly version: number;
  /** What it asks, how many examples, how the answer is found. */
  readonly description: string;
  /** Which published numbers its score may be compared with, and where it differs. */
  readonly comparableWith: string;
  readonly data: HubRows | OwnRows | FileRows;
  /** Seed of the examples' order, so that the first n are a fair sample; null keeps the order of the rows. */
  readonly orderSeed: number | null;
  /** null leaves the row out. Throws a DomainError that names the field where the row is not of the benchmark's shape. */
  toExample(row: Row, index: number): Example | null;
  readonly generation: GenerationDefaults;
  /** What the field puts before the question; `systemPrompt` of a run goes before it. */
  readonly systemPrompt?: string;
  readonly grader: Grader;
  /** Its answers are run: the work is for workers with the role `grading`. */
  readonly needsSandbox?: true;
  /** Name of the main metric; default `accuracy`. */
  readonly metric?: string;
  /** When an example was published, where runs may be limited to dates. */
  readonly dateOf?: (example: Example) => string;
  /** For several turns; default: one, judged by the grader. */
  environment?(example: Example): MessageEnvironment;
}
