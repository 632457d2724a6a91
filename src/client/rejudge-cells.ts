import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { EvaluatorConfig } from '../config/evaluation-config';
import { parseJudges } from '../config/judge-config';
import type { EvaluatorRequest } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import { readStoredCell } from '../evaluation/stored-cell';
import type { EvaluatedStep } from '../stores/evaluated-step';
import { evaluatedStepIn } from '../stores/evaluated-step';
import type { RunRecord } from '../training/run-folder';
import { findJudges } from './judge-sources';
import type { RejudgeOptions } from './rejudge';
import { nameFor } from './rejudge';
import type { RunRecords } from './run-records';

export interface RejudgedEvaluators {
  /** Base model of the run. */
  readonly model: string;
  readonly requests: readonly EvaluatorRequest[];
}

export interface RejudgeSources {
  readonly records: RunRecords;
  readonly store: string;
  readonly dataFolder: string;
}

/** Evaluations of a training run that models judged, as they were but for their judges and where they go. */
export async function rejudgeEvaluatorRequests(
  options: RejudgeOptions,
  { records, store, dataFolder }: RejudgeSources,
): Promise<RejudgedEvaluators> {
  if (options.plugins !== undefined) {
    throw new DomainError(
      'bad-config',
      '--plugins: the evaluators of a training run are those of its config. Leave it out.',
    );
  }
  const folder = path.resolve(options.folder);
  const place = evaluatedStepIn(store, folder);
  if (!place) {
    throw new DomainError(
      'bad-config',
      `${folder} is no evals/STEP of a training run in ${store}. Name RUN@STEP.`,
    );
  }
  const { config, evaluators } = await records.readConfig<RunRecord>(place.run);
  const names = await judgedNames(folder, { evaluators, wanted: options.benchmarks, ...place });
  const { judges = [] } = await findJudges({ judge: parseJudges(options.judge) }, records, { dataFolder });
  const run = validateName('Eval run', options.run ?? nameFor(`${place.run}-${place.step}`, judges));
  const target = options.output === undefined ? path.join(store, 'evals', run) : path.resolve(options.output);
  const requests = names.map(async (evaluator) => {
    const samplesFrom = path.join(folder, evaluator);
    if (path.join(target, evaluator) === samplesFrom) throw overItself(target);
    const weights = await weightsOf(samplesFrom, place, records);
    return {
      ...{ run, folder: target, evaluator, trainingRun: place.run, step: place.step, ...weights },
      rejudging: { samplesFrom, judges },
    };
  });
  return { model: config.model, requests: await Promise.all(requests) };
}

interface JudgedSearch extends EvaluatedStep {
  readonly evaluators: RunRecord['evaluators'];
  readonly wanted: readonly string[] | undefined;
}

async function judgedNames(folder: string, search: JudgedSearch): Promise<string[]> {
  const { run, step, evaluators, wanted } = search;
  const judged = Object.keys(evaluators).filter((name) => isJudged(evaluators[name]));
  const there = await Promise.all(judged.map((name) => hasAnswers(path.join(folder, name))));
  const names = judged.filter((_, index) => there[index]);
  const missing = wanted?.find((name) => !names.some((known) => isSameName(known, name)));
  if (names.length > 0 && missing === undefined)
    return wanted ? names.filter((name) => wanted.some((each) => isSameName(name, each))) : names;
  const known = names.length > 0 ? names.join(', ') : 'none';
  throw new DomainError(
    'bad-config',
    `Run "${run}" has no answers${missing === undefined ? '' : ` of ${missing}`} at step ${step} that a model judged. Judged there: ${known}.`,
  );
}

/** Commands write names with underscores where evaluators may have dashes. */
function isSameName(left: string, right: string): boolean {
  return left.replaceAll('-', '_') === right.replaceAll('-', '_');
}

function isJudged(config: EvaluatorConfig | undefined): boolean {
  if (config?.type === 'benchmark') return config.judge !== undefined;
  return config?.type === 'modelGraded' || config?.type === 'comparison';
}

async function hasAnswers(cell: string): Promise<boolean> {
  return stat(path.join(cell, 'journal', 'samples.jsonl')).then(
    () => true,
    () => false,
  );
}

/** Answers are found again by the weights' run, step and lineage. A cell whose judge never gave a verdict names none. */
async function weightsOf(
  cell: string,
  { run }: EvaluatedStep,
  records: RunRecords,
): Promise<Pick<EvaluatorRequest, 'lineage' | 'samplerPath'>> {
  const model = (await readStoredCell(cell))?.model;
  const named = /\/(\d+)$/.exec(model?.identity ?? '')?.[1];
  const lineage = named === undefined ? ((await records.readState(run))?.lineage ?? 0) : Number(named);
  return { lineage, samplerPath: model?.path ?? '' };
}

function overItself(target: string): DomainError {
  return new DomainError(
    'bad-config',
    `--output ${target} is the run's own evaluation. Its result stays; give another.`,
  );
}
