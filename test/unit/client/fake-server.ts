import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import type { ServerLink } from '../../../src/client/server-link';
import type { EvaluationCell, LiveStatus, RunState, ScoreRow } from '../../../src/core/run';

export interface FakeWorkflow {
  status: 'RUNNING' | 'COMPLETED' | 'FAILED' | 'TERMINATED' | 'CANCELLED';
  /** Answers of its worker; absent when no worker is there. */
  answers?: { status: LiveStatus; evaluations?: EvaluationCell[]; scores?: ScoreRow[] };
  memo?: object;
  pendingActivities?: readonly object[];
  pendingWorkflowTask?: { readonly attempt: number };
  failure?: { message: string; type: string };
  /** What it was started with. */
  args?: readonly unknown[];
}

export interface StartCall {
  readonly type: string;
  readonly options: {
    readonly workflowId: string;
    readonly workflowIdReusePolicy: string;
    readonly args: readonly unknown[];
    readonly memo: unknown;
    readonly typedSearchAttributes?: unknown;
  };
}

/** A server with the workflows it is given; `null` is one that is away. */
export class FakeServer {
  readonly started: StartCall[] = [];
  readonly cancelled: { workflowId: string; reason: string }[] = [];
  readonly updates: { workflowId: string; name: string; request: unknown }[] = [];
  searchAttributes: Record<string, number> = {};
  mayAddAttributes = false;
  /** By id, as they describe themselves. */
  readonly schedules: Record<string, object> = {};

  constructor(readonly workflows: Record<string, FakeWorkflow> = {}) {}

  get link(): ServerLink {
    const client = this.client();
    return {
      target: { address: '127.0.0.1:7233', namespace: 'everstep' },
      description: '127.0.0.1:7233 (namespace everstep)',
      find: async () => client,
      require: async () => client,
      whyAway: () => null,
    } as unknown as ServerLink;
  }

  private client(): Client {
    const withDeadline = async <Result>(_deadline: number, call: () => Promise<Result>) => call();
    const operatorService = {
      listSearchAttributes: async () => ({ customAttributes: { ...this.searchAttributes } }),
      addSearchAttributes: async ({ searchAttributes }: { searchAttributes: Record<string, number> }) => {
        if (!this.mayAddAttributes) throw new Error('PERMISSION_DENIED');
        Object.assign(this.searchAttributes, searchAttributes);
      },
    };
    return {
      options: { namespace: 'everstep' },
      connection: { operatorService, withDeadline },
      withDeadline,
      workflowService: {
        deleteWorkflowExecution: async (request: { workflowExecution: { workflowId: string } }) => {
          Reflect.deleteProperty(this.workflows, request.workflowExecution.workflowId);
        },
        requestCancelWorkflowExecution: async (request: {
          workflowExecution: { workflowId: string };
          reason: string;
        }) => {
          const { workflowId } = request.workflowExecution;
          this.cancelled.push({ workflowId, reason: request.reason });
          const workflow = this.workflows[workflowId];
          if (workflow) workflow.status = 'CANCELLED';
        },
      },
      workflow: {
        start: async (type: string, options: StartCall['options']) => {
          this.start(type, options);
        },
        getHandle: (id: string) => this.handle(id),
        list: () =>
          Object.entries(this.workflows)
            .filter(([, { status }]) => status !== 'COMPLETED')
            .map(([workflowId, { memo }]) => ({ workflowId, memo })),
      },
      schedule: {
        list: () => Object.keys(this.schedules).map((scheduleId) => ({ scheduleId })),
        getHandle: (id: string) => ({ describe: async () => this.schedules[id] }),
      },
    } as unknown as Client;
  }

  /** It answers nobody in time. */
  isBusy = false;

  private start(type: string, options: StartCall['options']): void {
    const present = this.workflows[options.workflowId];
    const mayReplace = options.workflowIdReusePolicy === 'ALLOW_DUPLICATE' && present?.status !== 'RUNNING';
    if (present && !mayReplace) {
      throw new WorkflowExecutionAlreadyStartedError('already started', options.workflowId, type);
    }
    this.started.push({ type, options });
    const { memo, args } = options;
    this.workflows[options.workflowId] = { status: 'RUNNING', memo: memo as object, args };
  }

  private handle(id: string) {
    const workflow = this.workflows[id];
    const find = () => {
      if (workflow) return workflow;
      throw new WorkflowNotFoundError('not found', id, undefined);
    };
    return {
      describe: async () => {
        if (this.isBusy) throw new Error('DEADLINE_EXCEEDED');
        return {
          status: { name: find().status },
          startTime: new Date('2026-01-01T00:00:00Z'),
          closeTime: find().status === 'RUNNING' ? undefined : new Date('2026-01-01T01:00:00Z'),
          memo: find().memo ?? {},
          raw: {
            pendingActivities: find().pendingActivities ?? [],
            pendingWorkflowTask: find().pendingWorkflowTask,
          },
        };
      },
      fetchHistory: async () => {
        const payloads = find().args?.map((value) => defaultPayloadConverter.toPayload(value)) ?? [];
        return { events: [{ workflowExecutionStartedEventAttributes: { input: { payloads } } }] };
      },
      query: async ({ name }: { name: 'status' | 'evaluations' | 'scores' }) => {
        const { answers } = find();
        if (!answers) throw new Error('DEADLINE_EXCEEDED');
        return answers[name] ?? [];
      },
      executeUpdate: async ({ name }: { name: string }, { args }: { args: readonly unknown[] }) => {
        find();
        this.updates.push({ workflowId: id, name, request: args[0] });
        return { control: name, step: 7 };
      },
      result: async () => {
        const { failure } = find();
        if (failure) {
          const cause = ApplicationFailure.create({ message: failure.message, type: failure.type });
          throw new WorkflowFailedError('Workflow execution failed', cause, 'NON_RETRYABLE_FAILURE');
        }
      },
    };
  }
}

/** Nobody listens at the address. */
export const SERVER_AWAY = {
  target: { address: '127.0.0.1:1', namespace: 'everstep' },
  description: '127.0.0.1:1 (namespace everstep)',
  find: async () => null,
  whyAway: () => null,
} as unknown as ServerLink;

export const STATE: RunState = {
  run: 'one',
  kind: 'sft',
  model: 'everstep/tiny',
  status: 'running',
  step: 40,
  totalSteps: 100,
  startedAt: '2026-01-01T00:00:00.000Z',
  closedAt: null,
  workflowId: 'train/one',
  engine: 'http://127.0.0.1:8000',
  lineage: 0,
  rewinds: 0,
  stepsReplayed: 0,
  finalWeightsDigest: null,
};

export const LIVE: LiveStatus = {
  run: 'one',
  status: 'running',
  step: 55,
  submittedThrough: 56,
  totalSteps: 100,
  epoch: 0,
  waitingFor: null,
  pendingEvaluations: 1,
  incarnation: 1,
  lineage: 0,
  rewinds: 1,
  stepsReplayed: 5,
};

export function score(more: Partial<ScoreRow> = {}): ScoreRow {
  return {
    step: 0,
    schedule: 'evaluators',
    evaluator: 'arithmetic',
    metric: 'accuracy',
    key: 'test/arithmetic/accuracy',
    value: 0.5,
    stderr: 0.05,
    n: 100,
    higherIsBetter: true,
    at: '2026-01-01T00:00:01.000Z',
    ...more,
  };
}
