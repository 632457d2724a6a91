import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import type { EvaluationCell, LiveStatus, ScoreRow } from '../../../src/core/run';
import { WORKFLOW_TASK_TIMEOUT } from '../../../src/core/task-queues';
import type { TrainReport, TrainSupervisedInput } from '../../../src/workflows/contracts';
import { evaluationsQuery, statusQuery } from '../../../src/workflows/contracts';
import type { TestStack } from './stack';

/** Rows of the shape the shipped data has, written below the stack's folder. */
export function writeSums(folder: string, count = 64): { readonly train: string; readonly test: string } {
  const rows = Array.from({ length: count }, (_, index) => ({
    messages: [
      { role: 'user', content: `${index}+${index}=` },
      { role: 'assistant', content: String(2 * index) },
    ],
  }));
  const write = (name: string, kept: readonly object[]) => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, name);
    writeFileSync(file, kept.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return file;
  };
  return { train: write('train.jsonl', rows), test: write('test.jsonl', rows.slice(0, 8)) };
}

/** Starts runs on a stack as the client library does, and waits for what a story needs to have happened. */
export class TestRuns {
  private readonly data: ReturnType<typeof writeSums>;

  constructor(private readonly stack: TestStack) {
    this.data = writeSums(stack.folder);
  }

  get testPath(): string {
    return this.data.test;
  }

  config(more: object = {}): SupervisedConfig {
    return SupervisedConfig.parse({
      kind: 'sft',
      model: 'everstep/tiny',
      dataset: { path: this.data.train },
      steps: 12,
      batchSize: 16,
      learningRate: 1e-3,
      loraRank: 4,
      saveEvery: 5,
      ...more,
    });
  }

  inputOf(
    run: string,
    config: SupervisedConfig,
    more: Partial<TrainSupervisedInput> = {},
  ): TrainSupervisedInput {
    return {
      run,
      config,
      useSearchAttributes: false,
      provenance: { everstepVersion: 'test', codeRevision: null, startedBy: 'test', command: [] },
      ...more,
    };
  }

  async start(
    run: string,
    config: SupervisedConfig,
    more: Partial<TrainSupervisedInput> = {},
  ): Promise<WorkflowHandle> {
    const input = this.inputOf(run, config, more);
    return this.stack.client.workflow.start('trainSupervised', {
      taskQueue: 'everstep',
      workflowId: `train/${run}`,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      args: [input],
    });
  }

  async train(
    run: string,
    config: SupervisedConfig,
    more: Partial<TrainSupervisedInput> = {},
  ): Promise<TrainReport> {
    const handle = await this.start(run, config, more);
    return reportOf(handle);
  }

  /** Scores without what depends on the clock, in an order that does not either. */
  async scores(run: string): Promise<Omit<ScoreRow, 'at'>[]> {
    const rows = await this.stack.store.readScores(run);
    return rows
      .map((row) => {
        const { at, ...rest } = row;
        expect(Date.parse(at)).not.toBeNaN();
        return rest;
      })
      .sort((left, right) => left.step - right.step || left.key.localeCompare(right.key));
  }

  /** Everything a run must have in common with its undisturbed twin. */
  async outcome(run: string): Promise<object> {
    const state = await this.stack.store.readState(run);
    return {
      status: state?.status,
      step: state?.step,
      finalWeightsDigest: state?.finalWeightsDigest,
      metrics: await this.stack.store.readMetrics(run),
      scores: await this.scores(run),
    };
  }
}

export async function reportOf(handle: WorkflowHandle): Promise<TrainReport> {
  return (await handle.result()) as TrainReport;
}

/** Waits until the run itself says so. */
export async function untilStatus(
  handle: WorkflowHandle,
  isReached: (status: LiveStatus) => boolean,
): Promise<LiveStatus> {
  return until(async () => {
    const status = await handle.query(statusQuery);
    return isReached(status) ? status : null;
  });
}

export async function untilCell(
  handle: WorkflowHandle,
  isReached: (cell: EvaluationCell) => boolean,
): Promise<EvaluationCell> {
  return until(async () => (await handle.query(evaluationsQuery)).find(isReached) ?? null);
}

/** Asks until there is an answer, less and less often, since asking costs too; the test's own limit ends a wait in vain. */
export async function until<Answer>(ask: () => Answer | null | Promise<Answer | null>): Promise<Answer> {
  for (let pauseMs = 10; ; pauseMs = Math.min(100, pauseMs * 1.3)) {
    const answer = await ask();
    if (answer !== null) return answer;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** The domain's code and words a workflow failed with. */
export async function failureOf(
  handle: WorkflowHandle,
): Promise<{ code: string | null | undefined; message: string }> {
  try {
    await handle.result();
  } catch (error) {
    const failed = error instanceof WorkflowFailedError ? error.cause : null;
    const cause = failed instanceof ActivityFailure ? failed.cause : failed;
    if (cause instanceof ApplicationFailure) return { code: cause.type, message: cause.message };
    throw error;
  }
  throw new Error('The workflow did not fail.');
}
