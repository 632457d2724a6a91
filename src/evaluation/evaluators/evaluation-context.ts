import type { DatasetConfig } from '../../config/dataset-config';
import type { TrainOnWhat } from '../../core/conversation';
import type { Sampler } from '../../core/sampling';
import type { Tokenizer } from '../../core/tokenizer';
import type { LoadedDataset } from '../../datasets/dataset';
import type { Renderer } from '../../renderers/renderer';
import type { PluginRegistry } from '../plugins';

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
  readonly loadDataset: (config: DatasetConfig) => Promise<LoadedDataset>;
  readonly plugins: PluginRegistry;
  /** Default: all assistant messages, each example the same weight. */
  readonly supervision?: Supervision;
  /** Milliseconds a completion may take; default 300,000. */
  readonly timeoutMs?: number;
}

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
  readonly onProgress: (progress: Progress) => void;
}
