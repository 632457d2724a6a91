import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { ReinforcementConfig } from '../../../src/config/reinforcement-config';
import { WORKFLOW_TASK_TIMEOUT } from '../../../src/core/task-queues';
import type { TrainReinforcementInput, TrainReport } from '../../../src/workflows/contracts';
import { reportOf, until } from './runs';
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
  ): Promise<WorkflowHandleWithFirstExecutionRunId> {
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

  /** What runs keep of what was drawn for them, a file a group or reference, and the tokens in it. */
  tokensKept(...runs: readonly string[]): ReadonlyMap<string, number> {
    return new Map(runs.flatMap((run) => this.keptIn(this.stack.store.runFolder(run))));
  }

  private keptIn(folder: string): [string, number][] {
    if (!existsSync(folder)) return [];
    const paths = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
    return paths.flatMap((path): [string, number][] => {
      // Of training, and of held-out problems.
      if (/\/rollouts\/\d+\/\d+\.jsonl$/.test(path))
        return [[path, this.tokensIn(readFileSync(path, 'utf8'))]];
      if (!/\/\d+\.reference\.json$/.test(path)) return [];
      // The protocol draws a token with each sequence that it scores.
      const { logprobs } = JSON.parse(readFileSync(path, 'utf8')) as { logprobs: unknown[][] };
      return [[path, logprobs.flat().length]];
    });
  }

  groupsJournalled(run: string): number {
    const folder = join(this.stack.store.runFolder(run), 'rollouts');
    return existsSync(folder) ? Object.keys(this.rollouts(run)).length : 0;
  }

  async untilGroups(run: string, count: number): Promise<void> {
    await until(() => (this.groupsJournalled(run) >= count ? true : null));
  }

  /** Each step was trained, and counted, once. */
  async expectEachBatchOnce(run: string, steps: number): Promise<void> {
    const metrics = await this.stack.store.readMetrics(run);
    const numbers = Array.from({ length: steps }, (_, index) => index + 1);
    expect(await this.stack.store.readState(run)).toMatchObject({ status: 'completed', step: steps });
    expect(metrics.map(({ step }) => step)).toEqual(numbers);
    expect(metrics.map((row) => row['optim/updates'])).toEqual(numbers);
    expect(metrics.every((row) => row['env/all/total_episodes'] === 16)).toBe(true);
    expect(this.groupsJournalled(run)).toBe(steps * 4);
  }

  /** How far the weights that drew each turn were behind those that it trains, by the place of its group. */
  delays(run: string): Record<string, readonly number[]> {
    const groups = Object.entries(this.rollouts(run)).map(([place, text]): [string, number[]] => {
      const step = Number(place.split('/')[0]);
      return [
        place,
        [...text.matchAll(/"policy_version":(\d+)/g)].map(([, version]) => step - 1 - Number(version)),
      ];
    });
    return Object.fromEntries(groups);
  }

  /** Sampling activities that the server counts as under way, by how it knows them. */
  async samplersUnderWay(handle: WorkflowHandle): Promise<{ readonly isStarted: boolean }[]> {
    const { raw } = await handle.describe();
    const { PENDING_ACTIVITY_STATE_STARTED: started } = temporal.api.enums.v1.PendingActivityState;
    return (raw.pendingActivities ?? [])
      .filter(({ activityType }) => activityType?.name === 'sampleRollouts')
      .map(({ state }) => ({ isStarted: state === started }));
  }

  /** A sampler of the run has begun: where weights are still trained, it waits for them. */
  async untilSamplerBegan(handle: WorkflowHandle): Promise<void> {
    await until(async () =>
      (await this.samplersUnderWay(handle)).some(({ isStarted }) => isStarted) ? true : null,
    );
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
