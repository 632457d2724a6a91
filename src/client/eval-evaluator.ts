import path from 'node:path';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { EvaluatorRequest } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import type { EvalRunMetadata } from '../stores/eval-run-store';
import { createWholeFile } from '../stores/whole-file';
import type { RunRecord } from '../training/run-folder';
import type { CellResult } from '../workflows/contracts';
import { engineAtHand } from './eval-engine';
import type { RunCheckpoint } from './eval-source';
import { findRunCheckpoint } from './eval-source';
import type { WorkflowOutcome } from './eval-workflow';
import { awaitWorkflow, waitingReason } from './eval-workflow';
import type { RunSources } from './run-handle';
import { searchAttributesOfEval } from '../workflows/eval-attributes';
import { ensureSearchAttributes } from './search-attributes';
import type { ServerLink } from './server-link';
import type { Known } from './known-options';

export interface EvaluatorOptions {
  /** RUN, or RUN@STEP. */
  readonly checkpoint: string;
  /** Name of the eval run; default: the run and its step. */
  readonly run?: string | undefined;
  /** Folder of its results; default `<store>/evals/<run>`. */
  readonly output?: string | undefined;
}

export const EVALUATOR_OPTIONS: Known<EvaluatorOptions> = { checkpoint: true, run: true, output: true };

interface AskedEvaluator extends EvaluatorOptions {
  readonly evaluator: string;
  /** Folder of all runs. */
  readonly store: string;
  /** State folder of the stack. */
  readonly dataFolder: string;
}

/** Starts an evaluator on a checkpoint, or attaches to it where it is under way. */
export async function startEvaluator(
  { link, records }: RunSources,
  { evaluator, checkpoint, store, dataFolder, run, output }: AskedEvaluator,
): Promise<EvaluatorHandle> {
  const found = await findRunCheckpoint(checkpoint, records);
  const { config, evaluators } = await records.readConfig<RunRecord>(found.run);
  if (!Object.hasOwn(evaluators, evaluator)) {
    const known = Object.keys(evaluators).join(', ') || 'none';
    throw new DomainError(
      'unknown-evaluator',
      `Run "${found.run}" has no evaluator "${evaluator}". It has: ${known}.`,
    );
  }
  const name = validateName('Eval run', run ?? `${found.run}-${found.row.step}`);
  const folder = output === undefined ? path.join(store, 'evals', name) : path.resolve(output);
  const { step, lineage } = found.row;
  const { run: trainingRun, samplerPath } = found;
  const isAtOwnEngine = await isOnlyAtOwnEngine(found, config, dataFolder);
  const request = {
    ...{ run: name, folder, evaluator, trainingRun, step, lineage, samplerPath },
    ...(isAtOwnEngine && { isAtOwnEngine: true as const }),
  };
  return startRequest(link, request, config.model);
}

/** Starts it, or attaches to it where it is under way. */
export async function startRequest(
  link: ServerLink,
  request: EvaluatorRequest,
  model: string,
): Promise<EvaluatorHandle> {
  await describe(request, model);
  await start(await link.require(), request, model);
  return new EvaluatorHandle(link, request);
}

/** The engine a run was trained at may be gone while that of this data folder has its weights. */
async function isOnlyAtOwnEngine(
  { samplerPath }: RunCheckpoint,
  { model, engine }: RunRecord['config'],
  dataFolder: string,
): Promise<boolean> {
  const { url } = engine;
  if (url === undefined) return false;
  const source = { type: 'engine', model, path: samplerPath, label: null, url } as const;
  return (await engineAtHand(source, { dataFolder })).url !== url;
}

async function start(client: Client, request: EvaluatorRequest, model: string): Promise<void> {
  const attributes = searchAttributesOfEval('evaluator', { run: request.run, model });
  const useSearchAttributes = await ensureSearchAttributes(client);
  try {
    await client.workflow.start('runEvaluator', {
      workflowId: workflowIdOf(request),
      taskQueue: TASK_QUEUES.workflows,
      args: [{ request }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      ...(useSearchAttributes && { typedSearchAttributes: attributes }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

async function describe(request: EvaluatorRequest, model: string): Promise<void> {
  const { run, folder, samplerPath, trainingRun, step, evaluator, rejudging } = request;
  const metadata: EvalRunMetadata = {
    run_id: run,
    model_name: model,
    checkpoint_path: samplerPath,
    checkpoint_name: `${trainingRun}@${step}`,
    benchmarks: [],
    timestamp: new Date().toISOString(),
    config: { evaluator, trainingRun, step, ...rejudging },
    scores: {},
  };
  await createWholeFile(path.join(folder, 'metadata.json'), `${JSON.stringify(metadata, null, 2)}\n`);
}

function workflowIdOf({ run, evaluator }: EvaluatorRequest): string {
  return `bench/${run}/${evaluator}`;
}

/** An evaluator at work on one checkpoint. */
export class EvaluatorHandle {
  constructor(
    private readonly link: ServerLink,
    readonly request: EvaluatorRequest,
  ) {}

  get folder(): string {
    return path.join(this.request.folder, this.request.evaluator);
  }

  /** What it waits for, e.g. a service that is away; null where it does not wait. */
  waitingReason(): Promise<string | null> {
    return waitingReason(this.link, workflowIdOf(this.request));
  }

  /** Waits for the end. null when `signal` fires first; it goes on. */
  result({ signal }: { readonly signal?: AbortSignal } = {}): Promise<WorkflowOutcome<CellResult> | null> {
    const workflow = { name: this.request.evaluator, workflowId: workflowIdOf(this.request) };
    return awaitWorkflow<CellResult>(this.link, workflow, signal);
  }
}
