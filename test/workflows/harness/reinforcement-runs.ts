import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { ReinforcementConfig } from '../../../src/config/reinforcement-config';
import { WORKFLOW_TASK_TIMEOUT } from '../../../src/core/task-queues';
import type { TrainReinforcementInput, TrainReport } from '../../../src/workflows/contracts';
import { reportOf } from './runs';
import type { TestStack } from './stack';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export interface Sampler {
  readonly step: number;
  /** It began before its weights were there. */
  readonly isEarly: boolean;
  readonly end: 'completed' | 'called off' | 'failed' | null;
}

/** Starts reinforcement runs on a stack as the client library does. */
export class ReinforcementRuns {
  constructor(private readonly stack: TestStack) {}

  config(more: object = {}): ReinforcementConfig {
    return ReinforcementConfig.parse({
      kind: 'rl',
      model: 'everstep/tiny',
      environment: { type: 'arithmetic' },
      steps: 6,
      groupsPerBatch: 4,
      groupSize: 4,
      maxTokens: 6,
      learningRate: 1e-3,
      loraRank: 4,
      saveEvery: 3,
      evalEvery: 3,
      evaluators: [{ type: 'rlTestSet', limit: 8 }],
      ...more,
    });
  }

  start(
    run: string,
    config: ReinforcementConfig,
    more: Partial<TrainReinforcementInput> = {},
  ): Promise<WorkflowHandle> {
    const input: TrainReinforcementInput = {
      run,
      config,
      useSearchAttributes: false,
      provenance: { everstepVersion: 'test', codeRevision: null, startedBy: 'test', command: [] },
      ...more,
    };
    return this.stack.client.workflow.start('trainReinforcement', {
      taskQueue: 'everstep',
      workflowId: `train/${run}`,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      args: [input],
    });
  }

  async train(
    run: string,
    config: ReinforcementConfig,
    more: Partial<TrainReinforcementInput> = {},
  ): Promise<TrainReport> {
    return reportOf(await this.start(run, config, more));
  }

  /** Everything a synchronous run must have in common with its undisturbed twin. */
  async outcome(run: string): Promise<object> {
    const { store } = this.stack;
    const state = await store.readState(run);
    const scores = (await store.readScores(run)).map((row) => ({ ...row, at: null }));
    return {
      status: state?.status,
      step: state?.step,
      finalWeightsDigest: state?.finalWeightsDigest,
      metrics: await store.readMetrics(run),
      scores: scores.sort((left, right) => left.step - right.step || (left.key < right.key ? -1 : 1)),
      rollouts: this.rollouts(run),
    };
  }

  /** The files of all groups, by their place. */
  rollouts(run: string): Record<string, string> {
    const folder = join(this.stack.store.runFolder(run), 'rollouts');
    const names = readdirSync(folder, { recursive: true }).map(String).sort();
    return Object.fromEntries(
      names
        .filter((name) => name.endsWith('.jsonl'))
        .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    );
  }

  /** Tokens that the policy wrote in a group's file. */
  tokensIn(group: string): number {
    const rows = group.split('\n').filter((line) => line !== '');
    return rows.reduce((sum, row) => {
      const { turns = [] } = JSON.parse(row) as { turns?: { tokens: number[] }[] };
      return sum + turns.reduce((count, { tokens }) => count + tokens.length, 0);
    }, 0);
  }

  /** Tokens that the policy wrote in all groups that are journalled. */
  tokensJournalled(run: string): number {
    return Object.values(this.rollouts(run)).reduce((sum, group) => sum + this.tokensIn(group), 0);
  }

  /** Sampling activities that the server counts as under way, by how it knows them. */
  async samplersUnderWay(handle: WorkflowHandle): Promise<{ readonly isStarted: boolean }[]> {
    const { raw } = await handle.describe();
    const { PENDING_ACTIVITY_STATE_STARTED: started } = temporal.api.enums.v1.PendingActivityState;
    return (raw.pendingActivities ?? [])
      .filter(({ activityType }) => activityType?.name === 'sampleRollouts')
      .map(({ state }) => ({ isStarted: state === started }));
  }

  /** What each sampling activity of a run was asked for, and what became of it. */
  async samplers(handle: WorkflowHandle): Promise<Sampler[]> {
    const { events } = await handle.fetchHistory();
    return samplersIn(events ?? []);
  }

  /** Tokens that this engine has drawn since it was started. */
  async tokensSampled(): Promise<number> {
    const text = await (await fetch(`${this.stack.engine.url}/metrics`)).text();
    return Number(/tokens_sampled_total (\d+)/.exec(text)?.[1]);
  }
}

function samplersIn(events: readonly HistoryEvent[]): Sampler[] {
  const ends = new Map(events.flatMap((event) => endOf(event)));
  return events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled?.activityType?.name !== 'sampleRollouts') return [];
    const data = Buffer.from(scheduled.input?.payloads?.[0]?.data ?? []).toString('utf8');
    const { step, awaited } = JSON.parse(data) as { step: number; awaited?: object };
    return [{ step, isEarly: awaited !== undefined, end: ends.get(String(eventId)) ?? null }];
  });
}

function endOf(event: HistoryEvent): [string, NonNullable<Sampler['end']>][] {
  const ends = [
    ['completed', event.activityTaskCompletedEventAttributes],
    ['called off', event.activityTaskCancelRequestedEventAttributes],
    ['failed', event.activityTaskFailedEventAttributes],
  ] as const;
  return ends.flatMap(([end, attributes]) =>
    attributes ? [[String(attributes.scheduledEventId), end] as [string, typeof end]] : [],
  );
}
