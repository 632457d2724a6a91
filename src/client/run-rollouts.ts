import { DomainError } from '../core/errors';
import { rolloutPage } from '../evaluation/pages/rollout-page';
import type { ShownGroup } from '../evaluation/pages/shown-group';
import type { EvaluationGroups, EvaluationPlace } from '../training/reinforcement/evaluation-groups';
import { listEvaluationPlaces, readEvaluationGroups } from '../training/reinforcement/evaluation-groups';
import { evaluationPage } from '../training/reinforcement/evaluation-page';
import type { ReplayedStep } from '../training/reinforcement/replay-step';
import { readStep, replayStep, sampledSteps } from '../training/reinforcement/replay-step';
import { shownGroup } from '../training/reinforcement/shown-group';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';

export { failuresOf, meanReward } from '../evaluation/pages/shown-group';
export type { ShownGroup, ShownRollout } from '../evaluation/pages/shown-group';

/** How many answers of an evaluation were right, by the field's names. */
export interface EvaluationTotals {
  readonly total_samples: number;
  readonly total_correct: number;
  readonly accuracy: number;
}

/** `totals` is null while it is under way, and where answers are not right or wrong. */
export type EvaluationRollouts = EvaluationPlace &
  EvaluationGroups & { readonly totals: EvaluationTotals | null };

interface EvaluationChoice {
  /** Default: the newest. */
  readonly step?: number | undefined;
  /** Groups at most. */
  readonly limit?: number | undefined;
}

const CHOICE: Known<EvaluationChoice> = { step: true, limit: true };
const SHOWN_GROUPS = 4;
const SHOWN_PLACES = 12;

/** What a step of a reinforcement run was sampled, and what it was trained on, from the run's files alone. */
export class RunRollouts {
  constructor(
    private readonly run: string,
    private readonly records: RunRecords,
    /** Refuses a run that nobody knows, with the names of those there are. */
    private readonly requireKnown: () => Promise<void> = () => Promise.resolve(),
  ) {}

  /** The newest step whose groups are all there; refused where none was sampled yet. */
  async newestStep(): Promise<number> {
    const step = (await sampledSteps(await this.source())).at(-1);
    if (step !== undefined) return step;
    throw new DomainError(
      'bad-dataset',
      `Run "${this.run}" has no step that was sampled to its end yet. Wait for its first step.`,
    );
  }

  /** All groups of a step. */
  async read(step: number): Promise<ShownGroup[]> {
    const groups = await readStep(await this.source(), step);
    return groups.map(({ group: sampled }, group) => shownGroup(group, sampled));
  }

  /**
   * What an evaluation sampled: rollouts of held-out problems, or a benchmark's trajectories; the newest unless a step is
   * named. Of runs of any kind.
   */
  async readEvaluation(evaluator: string, options: EvaluationChoice = {}): Promise<EvaluationRollouts> {
    requireKnownOptions('rollouts().readEvaluation', options, CHOICE);
    const { step, limit } = options;
    const place = await this.placeOf(evaluator, step);
    const groups = await readEvaluationGroups(this.cellFolder(place), limit);
    return { ...place, ...groups, totals: await this.totalsOf(place) };
  }

  /** The same as a page for a browser. */
  async evaluationPage(place: EvaluationPlace, groupCount = SHOWN_GROUPS): Promise<string> {
    const found = await this.placeOf(place.evaluator, place.step);
    const folder = this.cellFolder(found);
    const page = await evaluationPage({ run: this.run, ...found, folder, groupCount });
    if (page !== null) return page;
    const subject = `Evaluation ${found.evaluator} of step ${found.step} of run "${this.run}"`;
    throw new DomainError('bad-dataset', `${subject} has sampled nothing yet. Wait for its first answer.`);
  }

  /** Recomputes what a step was trained on and compares it with what was recorded. */
  async replay(step: number): Promise<ReplayedStep> {
    const timing = await this.records.readTiming(this.run, { from: step, to: step });
    return replayStep({ ...(await this.source()), timing }, step);
  }

  /** The first groups of a step as a page for a browser. */
  async page(step: number, groupCount?: number): Promise<string> {
    const source = await this.source();
    const { config } = source.record;
    const all = await readStep(source, step);
    const shown = all.slice(0, groupCount ?? (config.kind === 'rl' ? config.numGroupsToLog : 0));
    return rolloutPage({
      title: `${this.run}, step ${step}`,
      groups: shown.map(({ group: sampled }, group) => shownGroup(group, sampled)),
      hiddenCount: all.length - shown.length,
      command: `everstep runs rollouts ${this.run} --step ${step} --groups ${all.length}`,
    });
  }

  private async placeOf(evaluator: string, step: number | undefined): Promise<EvaluationPlace> {
    await this.source();
    const places = await listEvaluationPlaces(this.records.runFolder(this.run));
    const found = places.findLast(
      (place) => place.evaluator === evaluator && (step === undefined || place.step === step),
    );
    if (found) return found;
    const wanted = step === undefined ? `"${evaluator}"` : `"${evaluator}" at step ${step}`;
    throw new DomainError(
      'bad-config',
      `Run "${this.run}" has no rollouts of an evaluation ${wanted}. ${knownPlaces(places)}`,
    );
  }

  /** Of the stored score, which counts rollouts that failed. */
  private async totalsOf({ step, evaluator }: EvaluationPlace): Promise<EvaluationTotals | null> {
    const scores = await this.records.readScores(this.run);
    const score = scores.findLast(
      (row) => row.step === step && row.evaluator === evaluator && row.metric === 'accuracy',
    );
    if (score?.value == null) return null;
    const { value: accuracy, n } = score;
    return { total_samples: n, total_correct: Number((accuracy * n).toFixed(6)), accuracy };
  }

  private cellFolder({ step, evaluator }: EvaluationPlace): string {
    return this.records.cellFolder(this.run, step, evaluator);
  }

  private async source() {
    await this.requireKnown();
    const record = await this.records.readConfig<RunRecord>(this.run);
    if (!isRecordOfRun(record)) throw foreignConfig(this.run);
    return { record, folder: this.records.runFolder(this.run) };
  }
}

/** A foreign store may hold anything. */
function isRecordOfRun({ config }: Partial<RunRecord>): boolean {
  return typeof config === 'object';
}

function foreignConfig(run: string): DomainError {
  return new DomainError('store-conflict', `Run "${run}" has a config.json that is none of a run's.`);
}

/** `It has: environments at 0, 20, 40; gsm8k at 0.` */
function knownPlaces(places: readonly EvaluationPlace[]): string {
  if (places.length === 0) return 'None of its evaluations has sampled anything.';
  const names = [...new Set(places.map(({ evaluator }) => evaluator))];
  const texts = names.map((name) => {
    const steps = places.filter(({ evaluator }) => evaluator === name).map(({ step }) => step);
    const shown = steps.length > SHOWN_PLACES ? ['…', ...steps.slice(-SHOWN_PLACES)] : steps;
    return `${name} at ${shown.join(', ')}`;
  });
  return `It has: ${texts.join('; ')}.`;
}
