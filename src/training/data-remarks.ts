import type { SupervisedConfig } from '../config/supervised-config';
import type { TrainingConfig } from '../config/training-config';
import { countListed } from '../core/bad-row-list';
import { smallestOf } from '../core/extremes';
import type { LoadedDataset } from '../datasets/dataset';
import { rowWord } from '../datasets/file-rows';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import type { PreparedExamples } from './prepare-examples';

/** Rows that are named one by one. */
const MOST_NAMED = 5;

/** What a person should know of the training split before anything is paid for: rows that train nothing, or not always. */
export function dataRemarks(
  config: SupervisedConfig,
  { skipped }: Pick<LoadedDataset, 'skipped'>,
  { examples, refused, lossGone, lossless, speechless, unnamed }: PreparedExamples,
): string[] {
  const leftOut = leftOutText([...placesOfSkipped(skipped), ...refused]);
  return [
    ...(leftOut === null ? [] : [leftOut]),
    ...(lossGone.length === 0
      ? []
      : [
          `${counted(lossGone.length)} trained in vain: maxLength ${config.maxLength ?? ''} cuts off all tokens with loss of ${named(lossGone)}. Raise maxLength, or shorten or remove them.`,
        ]),
    ...(lossless.length === 0
      ? []
      : [
          `${counted(lossless.length)} trained in vain: with trainOnWhat "${config.trainOnWhat}" no token carries loss of ${named(lossless)}.`,
        ]),
    ...(speechless.length === 0
      ? []
      : [
          `${counted(speechless.length)} trained to say nothing: only the end of an empty reply is trained in ${named(speechless)}. Give the reply words or weight: 0, or remove the row.`,
        ]),
    ...(unnamed.length === 0
      ? []
      : [
          `${counted(unnamed.length)} trained to call by ids alone: the format writes a call's id in place of its name, and the ids do not name the tools in ${named(unnamed)}. Leave such ids out, or write them as functions.NAME:0, with the answers' tool_call_id.`,
        ]),
    ...tailRemark(examples.length, config.batchSize),
  ];
}

/** A warm-up that outlasts the run is legal, and seldom meant. */
export function warmUpRemark({ lrSchedule, learningRate }: TrainingConfig, totalSteps: number): string[] {
  const { warmupSteps } = lrSchedule;
  if (warmupSteps <= totalSteps) return [];
  const share = Math.round((100 * totalSteps) / warmupSteps);
  return [
    `lrSchedule.warmupSteps is ${warmupSteps} and the run has ${totalSteps} steps: the learning rate is still rising at its end, at ${share} % of ${learningRate}.`,
  ];
}

/** Schedules of steps that all lie behind the run's end are legal, and seldom meant: they measure nothing. */
export function unreachedRemarks(schedules: readonly EvaluationSchedule[], totalSteps: number): string[] {
  return schedules.flatMap((schedule) => {
    const first = firstStepOf(schedule);
    if (first === null || first <= totalSteps || schedule.atStart || schedule.atEnd) return [];
    return [
      `schedules: "${schedule.name}" is first due at step ${first} and the run has ${totalSteps} steps: it never measures.`,
    ];
  });
}

/** null where no step is named: one that is switched off, or goes by tokens or seconds alone. */
function firstStepOf({ at = [], every, offset }: EvaluationSchedule): number | null {
  const steps = [...at];
  if (every !== undefined) {
    if (!('steps' in every)) return null;
    steps.push(offset > 0 ? offset : every.steps);
  }
  return steps.length === 0 ? null : smallestOf(steps);
}

/** Held-out rows that are not measured. */
export function heldOutRemarks(refused: PreparedExamples['refused']): string[] {
  const [first] = refused;
  if (first === undefined) return [];
  return [
    `${counted(refused.length)} left out of the held-out rows (onBadRow: skip), the first, ${first.place}, because: ${first.reason}`,
  ];
}

/** Bad rows that a dataset left out; null where there are none. */
export function leftOutText(leftOut: PreparedExamples['refused']): string | null {
  const [first] = leftOut;
  if (first === undefined) return null;
  return `${counted(countListed(leftOut))} left out (onBadRow: skip), the first, ${first.place}, because: ${first.reason}`;
}

/** Rows that a dataset left out when it was read, by where they stand. */
export function placesOfSkipped(skipped: LoadedDataset['skipped']): PreparedExamples['refused'] {
  return skipped.map(({ file, line, reason, others }) => ({
    ...{ place: `${file} ${rowWord(file)} ${line}`, reason },
    ...(others !== undefined && { others }),
  }));
}

function counted(count: number): string {
  return count === 1 ? '1 row is' : `${count} rows are`;
}

function named(places: readonly string[]): string {
  const more = places.length - MOST_NAMED;
  return places.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Each pass has its own order, so that others are left over each time. */
function tailRemark(exampleCount: number, batchSize: number): string[] {
  const tail = exampleCount % batchSize;
  if (exampleCount < batchSize || tail === 0) return [];
  return [
    `${counted(tail)} left over in each pass: ${exampleCount} rows are ${Math.floor(exampleCount / batchSize)} whole batches of ${batchSize}, and each pass leaves out others. A batchSize that divides ${exampleCount} leaves none.`,
  ];
}
