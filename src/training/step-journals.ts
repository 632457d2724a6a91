import type { CheckpointRow, MetricsRow, TimingRow } from '../core/run';
import type { ModelIncarnation, TrainingPlan } from '../core/training-plan';
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
  /** State path of the rolling checkpoint that the checkpoint of this step makes superfluous, if any. */
  retiredBy(step: number): string | null;
  close(): Promise<void>;
}

export interface StepJournalOptions {
  readonly plan: TrainingPlan;
  readonly model: ModelIncarnation;
  /** Rises with every attempt that may write: a writer with a lower one has been superseded. */
  readonly epoch: number;
  readonly now: () => Date;
}

/** What a journal is opened with; rewinds use it to cut rows. */
type KeepRow = (row: { readonly step: number }) => boolean;

interface Journals {
  readonly metrics: Journal<MetricsRow>;
  readonly timing: Journal<TimingRow>;
  readonly checkpoints: Journal<CheckpointRow>;
}

export interface JournalOpening {
  readonly store: RunStore;
  readonly run: string;
  readonly epoch: number;
  readonly keepSteps?: KeepRow;
  readonly keepCheckpoints?: (row: CheckpointRow) => boolean;
}

export async function openJournals(opening: JournalOpening): Promise<Journals> {
  const { store, run, epoch, keepSteps, keepCheckpoints } = opening;
  const steps = { epoch, ...(keepSteps && { keep: keepSteps }) };
  return {
    metrics: await store.openJournal(run, 'metrics', steps),
    timing: await store.openJournal(run, 'timing', steps),
    checkpoints: await store.openJournal(run, 'checkpoints', {
      epoch,
      ...(keepCheckpoints && { keep: keepCheckpoints }),
    }),
  };
}

export async function closeJournals({ metrics, timing, checkpoints }: Journals): Promise<void> {
  await Promise.all([metrics.close(), timing.close(), checkpoints.close()]);
}

export async function openStepJournals(store: RunStore, options: StepJournalOptions): Promise<StepJournals> {
  const journals = await openJournals({ store, run: options.plan.run, epoch: options.epoch });
  const { metrics, timing, checkpoints } = journals;
  let lastAt = options.now().getTime();

  return {
    record(planned, answers) {
      const at = options.now();
      const checkpoint = checkpointRow(options, planned, answers);
      if (checkpoint) checkpoints.append(checkpoint);
      if (planned.step === 0) return;
      timing.append({
        step: planned.step,
        at: at.toISOString(),
        'time/step': (at.getTime() - lastAt) / 1000,
      });
      lastAt = at.getTime();
      metrics.append(stepMetrics(options.plan, planned, answers));
    },
    retiredBy(step) {
      const rows = checkpoints.rows();
      const index = rows.findIndex((row) => row.step === step);
      const previous = rows[index - 1];
      return previous?.rolling ? previous.state_path : null;
    },
    close: () => closeJournals(journals),
  };
}

function checkpointRow(
  { plan, model }: StepJournalOptions,
  { step, checkpoint, tokensAfter }: PlannedStep,
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
    sampler_path: samplerPath,
    elapsed_tokens: tokensAfter,
    lineage: model.lineage,
    incarnation: model.incarnation,
    ...(checkpoint.kind === 'rolling' && { rolling: true }),
  };
}
