import { DomainError } from '../core/errors';
import type { CheckpointRow, MetricsRow, TimingRow } from '../core/run';
import type { ModelIncarnation, SampledStep, SentRow, TrainingPlan } from '../core/training-plan';
import type { Journal } from '../stores/fenced-journal';
import type { RunStore } from '../stores/run-store';
import { stepMetrics } from './step-metrics';
import type { PlannedStep } from './step-plan';
import type { StepAnswers } from './step-requests';

/**
 * The run's files that grow with its steps. A step counts as collected when its metrics row is written, which is
 * therefore written last; rows already there stay as they are.
 */
export interface StepJournals {
  record(planned: PlannedStep, answers: StepAnswers): void;
  /** Before anything of a step is sent: what was sent counts, whatever dies before it is collected. */
  readonly recordSent: (planned: PlannedStep) => void;
  /** State path of the rolling or held checkpoint that the one of this name makes superfluous, if any. */
  retiredBy(name: string): string | null;
}

export interface StepJournalOptions {
  readonly plan: TrainingPlan;
  readonly model: ModelIncarnation;
  readonly now: () => Date;
  /** Milliseconds of a clock that nobody sets: a step's duration holds also where the machine's time is corrected. */
  readonly monotonic?: () => number;
  /** How long the rollouts of steps took. */
  readonly sampled?: readonly SampledStep[];
}

/** What a journal is opened with; rewinds use it to cut rows. */
type KeepRow = (row: { readonly step: number }) => boolean;

interface Journals {
  readonly metrics: Journal<MetricsRow>;
  readonly timing: Journal<TimingRow>;
  readonly checkpoints: Journal<CheckpointRow>;
  readonly sent: Journal<SentRow>;
}

/** Journals in the hands of one attempt. */
interface BorrowedJournals {
  /** Throws `superseded` once a later attempt has them. */
  current(): Journals;
}

export interface JournalOpening {
  readonly store: RunStore;
  readonly run: string;
  readonly epoch: number;
  readonly keepSteps?: KeepRow;
  readonly keepCheckpoints?: (row: CheckpointRow) => boolean;
}

/** Rows that are asked for again: a retried segment's last one, and the checkpoint before each of its own. */
const REMEMBERED = { metrics: 1, timing: 1, checkpoints: 64, sent: 64 };

export async function openJournals(opening: JournalOpening): Promise<Journals> {
  const { store, run, epoch, keepSteps, keepCheckpoints } = opening;
  const steps = { epoch, ...(keepSteps && { keep: keepSteps }) };
  return {
    metrics: await store.openJournal(run, 'metrics', { ...steps, remember: REMEMBERED.metrics }),
    timing: await store.openJournal(run, 'timing', { ...steps, remember: REMEMBERED.timing }),
    checkpoints: await store.openJournal(run, 'checkpoints', {
      epoch,
      remember: REMEMBERED.checkpoints,
      ...(keepCheckpoints && { keep: keepCheckpoints }),
    }),
    sent: await store.openJournal(run, 'sent', { epoch, remember: REMEMBERED.sent }),
  };
}

export async function closeJournals(journals: Journals): Promise<void> {
  await Promise.all(allOf(journals).map((journal) => journal.close()));
}

/**
 * The journals of one run, kept open from segment to segment while no other process writes them.
 *
 * Each attempt still has an epoch of its own, so a zombie elsewhere stays shut out; what is saved is reading and
 * copying all rows at every segment. Within the process the newest attempt has them alone.
 */
export class KeptJournals {
  private journals: Journals | null = null;
  private epoch = -1;
  private isInUse = false;
  private isGivenUp = false;

  constructor(
    private readonly store: RunStore,
    private readonly run: string,
  ) {}

  /** Lends the journals to one attempt; what it wrote is beyond a power loss when this resolves. */
  async lend<Result>(epoch: number, use: (borrowed: BorrowedJournals) => Promise<Result>): Promise<Result> {
    const journals = await this.take(epoch);
    this.isInUse = true;
    try {
      return await use({
        current: () => {
          this.requireNewest(epoch);
          return journals;
        },
      });
    } finally {
      if (this.epoch === epoch) await this.putBack(journals);
    }
  }

  /** Lets go of the files, after the attempt that has them. */
  async close(): Promise<void> {
    this.isGivenUp = true;
    if (!this.isInUse) await this.closeKept();
  }

  private async take(epoch: number): Promise<Journals> {
    this.requireNewest(epoch);
    this.epoch = epoch;
    if (this.journals && renewAll(this.journals, epoch)) return this.journals;
    await this.closeKept();
    const opened = await openJournals({ store: this.store, run: this.run, epoch });
    if (this.isNewest(epoch)) {
      this.journals = opened;
      return opened;
    }
    await closeJournals(opened);
    throw superseded(this.run);
  }

  private async putBack(journals: Journals): Promise<void> {
    this.isInUse = false;
    if (this.isGivenUp) return this.closeKept();
    await Promise.all(allOf(journals).map((journal) => journal.sync()));
  }

  private async closeKept(): Promise<void> {
    const { journals } = this;
    this.journals = null;
    if (journals) await closeJournals(journals);
  }

  private isNewest(epoch: number): boolean {
    return epoch >= this.epoch;
  }

  private requireNewest(epoch: number): void {
    if (!this.isNewest(epoch)) throw superseded(this.run);
  }
}

function renewAll(journals: Journals, epoch: number): boolean {
  return allOf(journals).every((journal) => journal.renew(epoch));
}

function allOf({ metrics, timing, checkpoints, sent }: Journals) {
  return [metrics, timing, checkpoints, sent];
}

function superseded(run: string): DomainError {
  return new DomainError(
    'superseded',
    `The journals of "${run}" now belong to a later attempt in this worker. Nothing to do: that attempt goes on.`,
  );
}

/** Writes a segment's steps into journals that this segment holds. */
export function createStepJournals(borrowed: BorrowedJournals, options: StepJournalOptions): StepJournals {
  const { monotonic = () => performance.now() } = options;
  let lastMs = monotonic();

  return {
    record(planned, answers) {
      const { metrics, timing, checkpoints } = borrowed.current();
      const checkpoint = checkpointRow(options, planned, answers);
      if (checkpoint) checkpoints.append(checkpoint);
      if (planned.batch === null) return;
      const ms = monotonic();
      timing.append({
        step: planned.step,
        at: options.now().toISOString(),
        'time/step': (ms - lastMs) / 1000,
        ...samplingTime(options, planned.step),
        ...planned.batch.timing?.(),
      });
      lastMs = ms;
      metrics.append(stepMetrics(options.plan, planned, answers));
    },
    recordSent({ step, batch, tokensAfter: tokens, schedules }) {
      if (batch === null) return;
      borrowed.current().sent.append({ step, incarnation: options.model.incarnation, tokens, schedules });
    },
    retiredBy(name) {
      const rows = borrowed.current().checkpoints.rows();
      const index = rows.findLastIndex((row) => row.name === name);
      const previous = rows[index - 1];
      return previous?.rolling ? previous.state_path : null;
    },
  };
}

function samplingTime({ sampled = [] }: StepJournalOptions, step: number): Record<string, number> {
  const found = sampled.find((one) => one.step === step);
  return found ? { 'time/sampling': found.seconds } : {};
}

function checkpointRow(
  { plan, model }: StepJournalOptions,
  { step, checkpoint, tokensAfter, updatesAfter }: PlannedStep,
  { statePath, samplerPath }: StepAnswers,
): CheckpointRow | null {
  if (!checkpoint) return null;
  return {
    name: checkpoint.name,
    step,
    batch: step,
    epoch: Math.floor(step / plan.stepsPerEpoch),
    final: checkpoint.kind === 'final',
    state_path: statePath,
    // A snapshot that only evaluations needed is deleted when they are final.
    sampler_path: checkpoint.kind === 'periodic' || checkpoint.kind === 'final' ? samplerPath : null,
    elapsed_tokens: tokensAfter,
    lineage: model.lineage,
    incarnation: model.incarnation,
    ...(plan.rollouts && { updates: updatesAfter }),
    ...((checkpoint.kind === 'rolling' || checkpoint.kind === 'held') && { rolling: true }),
  };
}
