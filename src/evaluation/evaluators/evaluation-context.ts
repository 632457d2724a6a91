import type { DatasetToRead } from '../dataset-of';
import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { CellRejudging } from '../../core/benchmark-run';
import type { TrainOnWhat } from '../../core/conversation';
import type { CellScore } from '../../core/run';
import type { Sampler } from '../../core/sampling';
import type { Tokenizer } from '../../core/tokenizer';
import type { LoadedDataset } from '../../datasets/dataset';
import type { Renderer } from '../../renderers/renderer';
import type { ReadBenchmarkRows } from '../benchmarks/benchmark-rows';
import type { InspectAccess } from '../inspect/run/inspect-access';
import type { JudgeAccess } from '../judges/judge-access';
import type { PluginRegistry } from '../plugins';
import type { PythonLink } from '../python/python-link';

/** How a run turns conversations into loss; `nll` measures with the same rule that training used. */
export interface Supervision {
  readonly trainOnWhat: TrainOnWhat;
  readonly lossReduction: 'mean' | 'none';
  /** Longer examples are cut on the right. */
  readonly maxLength?: number;
}

export interface EvaluationDependencies {
  /** Draws from the weights that are measured. */
  readonly sampler: Sampler;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /** Tokens the model reads and writes together; null where the service does not say. */
  readonly contextLength: number | null;
  readonly loadDataset: (config: DatasetToRead) => Promise<LoadedDataset>;
  readonly readBenchmarkRows: ReadBenchmarkRows;
  readonly plugins: PluginRegistry;
  /** The training service that has the weights. */
  readonly engineUrl?: string;
  /** The way to Python workers. */
  readonly python?: PythonLink | undefined;
  /** The way to models that judge. */
  readonly judges?: JudgeAccess | undefined;
  /** Answers are taken from another cell, and judged by these; no model is sampled. */
  readonly rejudging?: CellRejudging | undefined;
  /** The way to run tasks of Inspect AI. */
  readonly inspect?: InspectAccess | undefined;
  /** Default: all assistant messages, each example the same weight. */
  readonly supervision?: Supervision;
  /** Milliseconds a completion may take; default 300,000. */
  readonly timeoutMs?: number;
  /** Rolls out held-out environments; absent where a run has none. */
  readonly evaluateTestSet?: (
    config: TestSetConfig,
    work: CellWork & { readonly sampler: Sampler },
  ) => Promise<CellScore[]>;
}

type TestSetConfig = Extract<EvaluatorConfig, { type: 'rlTestSet' }>;

/** The weights that are measured. */
export interface MeasuredModel {
  /** Base model, e.g. `everstep/tiny`. */
  readonly name: string;
  /** Where they are, e.g. `tinker://…`. */
  readonly path: string;
  /** What they are, e.g. run, step and lineage; default `path`. Answers of other weights are never used again. */
  readonly identity?: string;
}

export function identityOf({ path, identity }: MeasuredModel): string {
  return identity ?? path;
}

interface Progress {
  readonly done: number;
  readonly total: number;
  /** Mean of what is done so far. */
  readonly score?: number;
}

/** What a cell that stands still waits for. */
interface Waiting {
  readonly waiting: string | null;
}

/** One evaluator's work on one snapshot, by one attempt. */
export interface CellWork {
  /** Name of the evaluator. */
  readonly name: string;
  /** `evals/<step>/<evaluator>` of the run. */
  readonly folder: string;
  /** Number of the attempt; a higher one shuts out the lower. */
  readonly epoch: number;
  readonly model: MeasuredModel;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress | Waiting) => void;
}
