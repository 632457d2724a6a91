import type { EvaluatorConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import { guardAttempt } from '../evaluation/attempt-guard';
import { evaluateCell } from '../evaluation/evaluate-cell';
import { findRenderer } from '../renderers/find-renderer';
import type { RunStore } from '../stores/run-store';
import type { ReadDataset } from './dataset-source';
import type { EngineAccess } from './engine-access';
import { pluginsOf } from './plugin-file';
import type { FinishedCell } from './record-scores';
import type { RunRecord } from './run-folder';
import { readRunRecord } from './run-folder';

export interface EvaluateSnapshotDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly readDataset: ReadDataset;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
  readonly now: () => Date;
  /** Plug-in file of this worker, for runs whose config names none. */
  readonly plugins?: string;
}

export interface EvaluateSnapshotInput {
  readonly run: string;
  readonly step: number;
  readonly lineage: number;
  readonly samplerPath: string;
  readonly evaluator: string;
}

export interface EvaluateSnapshotOptions {
  readonly signal: AbortSignal;
  /** Rises with every attempt that may write the cell's journal. */
  readonly epoch: number;
  readonly onProgress: (progress: unknown) => void;
}

/**
 * Scores one evaluator on one snapshot.
 *
 * What an evaluator itself gets wrong is a result: it is reported and training goes on. A service that is away, or
 * an attempt that was overtaken, is not the evaluator's fault and is thrown.
 */
export async function evaluateSnapshot(
  dependencies: EvaluateSnapshotDependencies,
  input: EvaluateSnapshotInput,
  options: EvaluateSnapshotOptions,
): Promise<FinishedCell> {
  const { evaluator } = input;
  const at = () => dependencies.now().toISOString();
  try {
    const folder = dependencies.store.cellFolder(input.run, input.step, evaluator);
    const scores = await guardAttempt(folder, () => scoreCell(dependencies, input, options));
    return { evaluator, scores, at: at() };
  } catch (error) {
    if (options.signal.aborted || isNotItsFault(error)) throw error;
    return { evaluator, scores: [], at: at(), error: error instanceof Error ? error.message : String(error) };
  }
}

const NOT_ITS_FAULT = ['unreachable', 'superseded', 'store-full', 'unauthorized', 'session-lost'];

function isNotItsFault(error: unknown): boolean {
  return error instanceof DomainError && (error.retryable || NOT_ITS_FAULT.includes(error.code));
}

async function scoreCell(
  dependencies: EvaluateSnapshotDependencies,
  input: EvaluateSnapshotInput,
  options: EvaluateSnapshotOptions,
) {
  const { store, engines, readDataset } = dependencies;
  const record = await readRunRecord(store, input.run);
  const { config } = record;
  const evaluator = evaluatorOf(record, input.evaluator);
  const tokenizer = await dependencies.tokenizerOf(config.model);
  const engine = await engines.connect(config.engine, { baseModel: config.model });
  const sampler = engine.client.createSampler({ modelPath: input.samplerPath });
  try {
    return await evaluateCell(
      {
        sampler,
        tokenizer,
        renderer: findRenderer(record.renderer, tokenizer),
        contextLength: engine.profile.maxSequenceLength,
        loadDataset: readDataset,
        plugins: await pluginsOf(config.plugins ?? dependencies.plugins),
        supervision: supervisionOf(config),
      },
      {
        evaluator,
        name: input.evaluator,
        folder: store.cellFolder(input.run, input.step, input.evaluator),
        epoch: options.epoch,
        model: { name: config.model, path: input.samplerPath, identity: identityOf(input) },
        signal: options.signal,
        onProgress: options.onProgress,
      },
    );
  } finally {
    await sampler.close();
    await engine.client.close();
  }
}

/** Weights by what they are: a snapshot saved again under another URI reuses the answers it has. */
function identityOf({ run, step, lineage }: EvaluateSnapshotInput): string {
  return `${run}/${step}/${lineage}`;
}

/** Held-out conversations are measured as the training ones count. */
function supervisionOf({ trainOnWhat, lossReduction, maxLength }: RunRecord['config']) {
  return { trainOnWhat, lossReduction, ...(maxLength !== undefined && { maxLength }) };
}

function evaluatorOf({ run, evaluators }: RunRecord, name: string): EvaluatorConfig {
  const evaluator = evaluators[name];
  if (evaluator) return evaluator;
  const known = Object.keys(evaluators).join(', ') || 'none';
  throw new DomainError('unknown-evaluator', `Run "${run}" has no evaluator "${name}". It has: ${known}.`);
}
