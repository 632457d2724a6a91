import { stat } from 'node:fs/promises';
import type { DatasetConfig } from '../config/dataset-config';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { TrainingConfig } from '../config/training-config';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { datasetOf } from '../evaluation/dataset-of';
import type { DatasetToRead } from '../evaluation/dataset-of';
import { chooseRows } from '../evaluation/evaluators/nll-sequence';
import type { SequenceSite } from '../evaluation/evaluators/nll-sequence';
import { UnknownBenchmarks } from '../evaluation/unknown-benchmarks';
import { checkEvaluators } from '../training/check-evaluators';
import { checkSplit } from '../training/check-split';
import { createDatasetReader } from '../training/dataset-source';
import type { ReadDataset } from '../training/dataset-source';
import { unmeasuredRows } from '../training/evaluator-rows';
import { createPluginLoader } from '../training/plugin-file';
import { resolveEvaluations } from '../training/resolve-evaluations';
import type { RefusedRow } from '../training/shown-row';
import { shownPlace } from '../training/shown-row';

/** A local dataset and the key of the config that names it. */
interface NamedDataset {
  readonly key: string;
  readonly dataset: DatasetToRead;
}

interface EvaluatorDataset extends NamedDataset {
  readonly evaluator: EvaluatorConfig;
}

/** Where rows of evaluators are read, and what those of `nll` are rendered with. */
export interface EvaluatorDataSite {
  readonly cacheFolder: string;
  readonly openSequences: () => Promise<SequenceSite>;
}

/**
 * Refuses what can be seen to fail before anything is started: evaluators nobody has (also where
 * their schedule is switched off), contradictions between them, and
 * local data that is missing, malformed or empty. What only the training service knows is refused while the run is
 * prepared, which leaves nothing behind either.
 */
export async function checkTraining(config: TrainingConfig, cacheFolder: string): Promise<void> {
  const evaluators = Object.values(resolveEvaluations(config, 'unknown').evaluators);
  await checkPlaces(config);

  const readDataset = createDatasetReader({ cacheFolder });
  for (const { key, dataset } of localDatasets(config, evaluators)) {
    await checkFiles(key, dataset);
    try {
      const { rows } = await readDataset(dataset);
      if (config.kind === 'sft' && dataset === config.dataset) checkSplit(rows, config);
    } catch (error) {
      throw withKey(key, error);
    }
  }
}

/** Each evaluator by its key, then all of them for what they are together. */
async function checkPlaces(config: TrainingConfig): Promise<void> {
  const check = checkEvaluators(createPluginLoader());
  const places = placesOfEvaluators(config);
  const unknown = new UnknownBenchmarks();
  for (const { key, evaluator } of places) {
    await check([evaluator], config.plugins).catch((error: unknown) => {
      unknown.note(withKey(key, error));
    });
  }
  unknown.refuse();
  const listed = places.map(({ evaluator }) => evaluator);
  await check(listed, config.plugins);
}

/**
 * The rows of evaluators' local datasets that cannot be read, or that `nll` cannot measure, or why such a dataset cannot be read at
 * all; what is read well is none of them.
 */
export async function* refusedEvaluatorRows(
  config: TrainingConfig,
  { cacheFolder, openSequences }: EvaluatorDataSite,
): AsyncGenerator<RefusedRow> {
  const readDataset = createDatasetReader({ cacheFolder, listsBadRows: true });
  const evaluators = Object.values(resolveEvaluations(config, 'unknown').evaluators);
  for (const named of evaluatorDatasets(config, evaluators)) {
    const { key, dataset } = named;
    const of = key.replace(/\.dataset\.path$/, '');
    const isLeftOut = dataset.onBadRow === 'skip';
    try {
      for await (const row of refusedRowsOf(named, readDataset, openSequences))
        yield { ...row, of, isLeftOut };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      yield { row: key, refused: error.message, of };
    }
  }
}

async function* refusedRowsOf(
  { key, dataset, evaluator }: EvaluatorDataset,
  readDataset: ReadDataset,
  openSequences: EvaluatorDataSite['openSequences'],
): AsyncGenerator<RefusedRow> {
  await checkFiles(key, dataset);
  const { rows, skipped } = await readDataset(dataset);
  for (const { file, line, reason } of skipped) yield { row: `${file}:${line}`, refused: reason };
  if (evaluator.type !== 'nll') return;
  const site = { openSequences, onProgress: () => undefined, signal: new AbortController().signal };
  const unmeasured = await unmeasuredRows(site, evaluator.name, chooseRows(rows, evaluator.maxExamples));
  for (const { place, reason } of unmeasured) yield { row: shownPlace(place), refused: reason };
}

function localDatasets(config: TrainingConfig, evaluators: readonly EvaluatorConfig[]): NamedDataset[] {
  return [
    ...(config.kind === 'sft' ? trainingDatasets(config.dataset) : []),
    ...evaluatorDatasets(config, evaluators),
  ].filter(({ dataset }) => dataset.path !== undefined);
}

function evaluatorDatasets(
  config: TrainingConfig,
  evaluators: readonly EvaluatorConfig[],
): EvaluatorDataset[] {
  return placesOfEvaluators(config)
    .flatMap(({ key, evaluator }) =>
      'dataset' in evaluator && evaluators.includes(evaluator)
        ? [{ key: `${key}.dataset.path`, dataset: datasetOf(evaluator), evaluator }]
        : [],
    )
    .filter(({ dataset }) => dataset.path !== undefined);
}

function trainingDatasets(dataset: DatasetConfig): NamedDataset[] {
  const { testPath, onBadRow, split, testSize, ignoreKeys, fields } = dataset;
  const test = { onBadRow, split, testSize, ignoreKeys, fields };
  return [
    { key: 'dataset.path', dataset },
    ...(testPath === undefined ? [] : [{ key: 'dataset.testPath', dataset: { ...test, path: testPath } }]),
  ];
}

function placesOfEvaluators(config: TrainingConfig) {
  const lists = [
    { key: 'evaluators', list: config.evaluators ?? [] },
    { key: 'infrequentEvaluators', list: config.infrequentEvaluators ?? [] },
    ...(config.schedules ?? []).map(({ evaluators }, index) => ({
      key: `schedules[${index}].evaluators`,
      list: evaluators,
    })),
  ];
  return lists.flatMap(({ key, list }) =>
    list.map((evaluator, index) => ({ key: `${key}[${index}]`, evaluator })),
  );
}

async function checkFiles(key: string, { path = [] }: DatasetConfig): Promise<void> {
  const paths = typeof path === 'string' ? [path] : path;
  for (const [index, file] of paths.entries()) {
    try {
      await stat(file);
    } catch (error) {
      const at = typeof path === 'string' ? key : `${key}[${index}]`;
      throw new DomainError('bad-dataset', `${at}: ${file} ${reasonOf(error)}. Correct the path.`, {
        cause: error,
      });
    }
  }
}

function reasonOf(error: unknown): string {
  if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return 'does not exist';
  return `cannot be read (${hasErrorCode(error, 'EACCES') ? 'permission denied' : String(error)})`;
}

/** What is wrong with the data is found without knowing which key of the config names it. */
function withKey(key: string, error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  const message = error.message.replace('Correct dataset.path.', 'Correct the path.');
  return new DomainError(error.code, `${key}: ${message}`, { cause: error });
}
