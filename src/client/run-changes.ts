import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import type { ControlReceipt, ControlRequest } from '../core/controls';
import type { Promotion } from '../core/controls/promotion';
import { DomainError } from '../core/errors';
import * as contracts from '../workflows/contracts';
import type {
  BudgetOptions,
  ControlOptions,
  EvaluationOptions,
  LearningRateOptions,
  PauseOptions,
  ScheduleOptions,
  SettingsOptions,
  StopOptions,
} from './control-requests';
import * as requests from './control-requests';
import { promoteEnded } from './promote-ended';
import { requestChange } from './run-controls';
import type { ServerLink } from './server-link';
import { ANSWER_LIMIT_MS, describeRun, workflowIdOf } from './workflow-answers';

/**
 * What people can change of a run that is under way. Each change is refused with a reason, or answered with the step it
 * takes effect at once that is sure and written to `controls.jsonl`.
 */
export abstract class RunChanges {
  constructor(
    readonly name: string,
    private readonly link: ServerLink,
  ) {}

  get workflowId(): string {
    return workflowIdOf(this.name);
  }

  /**
   * Ends the run after a step: the step is finished, saved and evaluated as a last one is. Returns the step as soon as it
   * is sure; `result` waits for the end.
   */
  async stop(options: StopOptions = {}): Promise<ControlReceipt> {
    return this.change(contracts.stopUpdate, requests.stopRequest(options));
  }

  /** Has the run stand still. A long pause lets go of the model, whose state is saved; resuming opens it there. */
  async pause(options: PauseOptions = {}): Promise<ControlReceipt> {
    return this.change(contracts.pauseUpdate, requests.pauseRequest(options));
  }

  /** Ends a pause, or takes it back before it begins. */
  async resume(options: ControlOptions = {}): Promise<ControlReceipt> {
    return this.change(contracts.resumeUpdate, requests.controlRequest(options));
  }

  /**
   * For who is about to stop the workers and the training service: what is under way is finished, the state is saved and the
   * model let go of; `status` says when (`isLetGo`). The run goes on by itself 20 s later, or when somebody attaches to it.
   */
  async handOver(options: ControlOptions = {}): Promise<ControlReceipt> {
    return this.change(contracts.handOverUpdate, requests.controlRequest(options));
  }

  /** Another peak learning rate; the schedule's shape goes on below it. */
  async setLearningRate(options: LearningRateOptions): Promise<ControlReceipt> {
    return this.change(contracts.setLearningRateUpdate, requests.learningRateRequest(options));
  }

  /** Changes when a named schedule is due, or what it runs. */
  async setEvalSchedule(schedule: string, options: ScheduleOptions): Promise<ControlReceipt> {
    return this.change(contracts.setEvalScheduleUpdate, requests.scheduleRequest(schedule, options));
  }

  /** Runs evaluators once; their scores stand under the schedule `requested`. Returns the step they measure. */
  async runEvaluation(options: EvaluationOptions = {}): Promise<ControlReceipt> {
    return this.change(contracts.runEvaluationUpdate, requests.evaluationRequest(options));
  }

  /** Limits what the run may use. At four fifths of a limit it warns, at the limit it pauses itself. */
  async setBudget(options: BudgetOptions): Promise<ControlReceipt> {
    return this.change(contracts.setBudgetUpdate, requests.budgetRequest(options));
  }

  /** Several of these together: they are made at one moment, and where one is refused none is. */
  async set(options: SettingsOptions): Promise<readonly ControlReceipt[]> {
    return this.change(contracts.setUpdate, requests.settingsRequest(options));
  }

  /** Marks the kept checkpoint of a step as the best one, also after the end; it does not expire any more. */
  async promote(checkpoint: number, options: ControlOptions = {}): Promise<ControlReceipt> {
    const request = requests.promotionRequest(checkpoint, options);
    const client = await this.link.require();
    const facts = await describeRun(client, this.name);
    const isEnded = facts !== null && facts !== 'missing' && !facts.isOpen;
    if (!isEnded) return this.change(contracts.promoteUpdate, request);
    return promoteEnded(client, { run: this.name, request, from: (await this.best())?.step ?? null });
  }

  /** The checkpoint that was promoted last. */
  abstract best(): Promise<Promotion | null>;

  /** Refuses a run that nobody knows. */
  protected abstract requireKnown(): Promise<void>;

  /** What a run waits for whose workflow answers; null where it waits for nothing, or does not answer. */
  protected abstract whatHolds(): Promise<string | null>;

  /** Ends the run at once. What it reached is saved where that is quick; its checkpoints and scores stay. */
  async cancel(options: ControlOptions = {}): Promise<void> {
    const client = await this.link.require();
    const request = requests.controlRequest(options);
    await this.explainCancel(client, request);
    const { namespace, identity } = client.options;
    await client.workflowService.requestCancelWorkflowExecution({
      namespace,
      identity,
      requestId: randomUUID(),
      workflowExecution: { workflowId: this.workflowId },
      reason: request.reason,
    });
  }

  /** A run without a worker, or one that is ending, cannot note it; it is cancelled all the same. */
  private async explainCancel(client: Client, request: ControlRequest): Promise<void> {
    try {
      await requestChange(client, {
        run: this.name,
        update: contracts.explainCancelUpdate,
        request,
        limitMs: ANSWER_LIMIT_MS,
      });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (isOfNoWorkflow(error)) await this.requireKnown();
    }
  }

  private async change<Request extends ControlRequest, Answer>(
    update: UpdateDefinition<Answer, [Request]>,
    request: Request,
  ): Promise<Answer> {
    const client = await this.link.require();
    try {
      return await requestChange(client, { run: this.name, update, request });
    } catch (error) {
      if (isOfNoWorkflow(error)) await this.requireKnown();
      throw (await this.heldUp(error)) ?? error;
    }
  }

  /** Of a change that was not answered in time though its worker is there: it is made, and cannot be written down yet. */
  private async heldUp(error: unknown): Promise<DomainError | null> {
    const isLate =
      error instanceof DomainError && error.cause instanceof WorkflowUpdateRPCTimeoutOrCancelledError;
    const what = isLate ? await this.whatHolds().catch(() => null) : null;
    if (what === null) return null;
    return new DomainError(
      'timed-out',
      `Run "${this.name}" waits for ${what}. The change is taken, and comes into effect at the latest when that is over. Look at it with \`npx everstep runs show ${this.name}\`.`,
      { cause: error },
    );
  }
}

/** The server has no such run under way: it may have ended, or be nobody's. */
function isOfNoWorkflow(error: unknown): boolean {
  return error instanceof DomainError && error.cause instanceof WorkflowNotFoundError;
}
