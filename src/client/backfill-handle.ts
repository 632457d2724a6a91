import { basename, dirname } from 'node:path';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { Environment } from '../config/environment';
import { readEnvironment } from '../config/environment';
import type { BackfillRequest, BackfillState, MatrixCell } from '../core/backfill';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { DomainError } from '../core/errors';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import { readBackfillRecord } from '../evaluation/backfill/backfill-record';
import type { BackfillInput } from '../workflows/backfill-contracts';
import { backfillQuery } from '../workflows/backfill-contracts';
import type * as BackfillLookUp from './backfill-look-up';
import type { BackfillJudging } from './backfill-request';
import { digestOfText } from './backfill-request';
import type { WeightsPlace, WeightsView } from './eval-engine';
import { engineAtHand, placeWeights } from './eval-engine';
import { decisiveOf } from './eval-requests';
import type { BenchmarkProgress } from './eval-progress';
import { readBenchmarkProgress } from './eval-progress';
import type { WorkflowOutcome } from './eval-workflow';
import { awaitWorkflow, benchmarkWorkflowId, waitingReason } from './eval-workflow';
import { ensureSearchAttributes } from './search-attributes';
import type { ServerLink } from './server-link';
import { ANSWER_LIMIT_MS } from './workflow-answers';

/** `older`: one of the same name was under way with fewer or other checkpoints. */
export type BackfillStart = 'started' | 'attached' | 'older';

const PLACES_AT_ONCE = 8;
const Memo = z.object({ asked: z.string(), checkpoints: z.string() });

/** A cell under way, and how far it is. */
export interface RunningCell {
  readonly cell: MatrixCell;
  /** null before it is planned. */
  readonly progress: BenchmarkProgress | null;
}

interface BackfillView extends WeightsView {
  readonly judging: BackfillJudging;
  /** Refuses judges that cannot answer, where nothing was begun that waits for them. */
  readonly look: (isBegun: () => Promise<boolean>) => Promise<void>;
  /** Lets workers use what was asked for. */
  readonly allow: () => void;
}

/** One backfill: it goes on whether anybody waits for it or not. */
export class BackfillHandle {
  constructor(
    private readonly link: ServerLink,
    readonly request: BackfillRequest,
    private readonly view: BackfillView,
  ) {}

  get name(): string {
    return this.request.name;
  }

  private get workflowId(): string {
    return `backfill/${this.name}`;
  }

  /** Starts it, or attaches to the one of this name. Refuses to attach where other benchmarks were asked otherwise. */
  async start(): Promise<BackfillStart> {
    await this.view.look(async () => (await this.state()) !== null);
    const client = await this.link.require();
    const request = await this.requestAtHand();
    this.view.allow();
    const useSearchAttributes = await ensureSearchAttributes(client);
    const input: BackfillInput = { request, ...(useSearchAttributes && { useSearchAttributes }) };
    try {
      await client.workflow.start('backfill', {
        workflowId: this.workflowId,
        taskQueue: TASK_QUEUES.workflows,
        args: [input],
        memo: memoOf(request),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      });
      return 'started';
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return this.attach(client, memoOf(request));
    }
  }

  /** Where the weights of the checkpoints, and of judges, can be asked, as seen from here. */
  async findWeights(): Promise<WeightsPlace[]> {
    const { checkpoints } = this.request;
    const places = await mapWithLimit(checkpoints, PLACES_AT_ONCE, ({ model }) =>
      placeWeights(model, this.view),
    );
    return [...places, ...(await this.view.judging.place())];
  }

  /**
   * The matrix as the store has it, without a server: present or missing, and why a missing one failed last time. Reads
   * the data of the benchmarks; asks no model.
   */
  async lookUp(environment: Environment = readEnvironment()): Promise<MatrixCell[]> {
    // Data sets, graders and renderers take longer to load than most commands to run.
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
    const { lookUpMatrix } = require('./backfill-look-up') as typeof BackfillLookUp;
    return lookUpMatrix(this.request, environment);
  }

  /** How it stands, from the workflow, else as it was last written; null where neither answers. */
  async state(): Promise<BackfillState | null> {
    const client = await this.link.find();
    const live = client && (await this.query(client));
    return live ?? readBackfillRecord(this.request.store, this.name);
  }

  /** How far the cells are that are under way. */
  async running(): Promise<RunningCell[]> {
    const cells = (await this.state())?.cells.filter(({ status }) => status === 'running') ?? [];
    return Promise.all(
      cells.map(async (cell) => {
        const place = placeOf(cell);
        return { cell, progress: place && (await readBenchmarkProgress(place)) };
      }),
    );
  }

  /** What it waits for, e.g. a service that is away. */
  async waitingReasons(): Promise<string[]> {
    const cells = (await this.state())?.cells.filter(({ status }) => status === 'running') ?? [];
    const ids = cells.flatMap((cell) => placeOf(cell) ?? []).map(benchmarkWorkflowId);
    const reasons = await Promise.all([this.workflowId, ...ids].map((id) => waitingReason(this.link, id)));
    return [...new Set(reasons.filter((reason) => reason !== null))];
  }

  /** Waits for the end. null when `signal` fires first; it goes on. */
  result({ signal }: { readonly signal?: AbortSignal } = {}): Promise<WorkflowOutcome<BackfillState> | null> {
    return awaitWorkflow(this.link, { name: this.name, workflowId: this.workflowId }, signal);
  }

  private async requestAtHand(): Promise<BackfillRequest> {
    const checkpoints = await mapWithLimit(this.request.checkpoints, PLACES_AT_ONCE, async (checkpoint) => ({
      ...checkpoint,
      model: await engineAtHand(checkpoint.model, this.view),
    }));
    const asking = { ...this.request.asking, ...(await this.view.judging.find()) };
    return { ...this.request, asking, checkpoints };
  }

  private async query(client: Client): Promise<BackfillState | null> {
    try {
      return await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
        client.workflow.getHandle(this.workflowId).query(backfillQuery),
      );
    } catch {
      return null;
    }
  }

  private async attach(client: Client, now: z.infer<typeof Memo>): Promise<BackfillStart> {
    const description = await client.workflow.getHandle(this.workflowId).describe();
    const underWay = Memo.safeParse(description.memo).data;
    if (underWay && underWay.asked !== now.asked) {
      throw new DomainError(
        'refused',
        `Backfill "${this.name}" is under way with other benchmarks or options. Use another --name NAME, or wait for its end.`,
      );
    }
    return underWay && underWay.checkpoints !== now.checkpoints ? 'older' : 'attached';
  }
}

function memoOf(request: BackfillRequest): z.infer<typeof Memo> {
  const { benchmarks, inspectTasks, asking, checkpoints } = request;
  const asked = [benchmarks, decisiveOf(asking), ...(inspectTasks ? [inspectTasks] : [])];
  return {
    asked: digestOfText(JSON.stringify(asked)),
    checkpoints: digestOfText(JSON.stringify(checkpoints.map(({ model }) => model))),
  };
}

/** Where a cell of an eval run lies. */
function placeOf({ dir }: MatrixCell) {
  if (dir === null) return null;
  const folder = dirname(dir);
  return { run: basename(folder), folder, benchmark: basename(dir) };
}
