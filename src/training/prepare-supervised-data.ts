import { rename, writeFile } from 'node:fs/promises';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { SupervisedConfig } from '../config/supervised-config';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { untilAborted } from '../core/concurrency/until-aborted';
import { jsonText } from '../core/json-source';
import type { Tokenizer } from '../core/tokenizer';
import type { ConversationRow, LoadedDataset } from '../datasets/dataset';
import { countListed } from '../core/bad-row-list';
import { splitTrainTest } from '../datasets/split';
import { findRenderer } from '../renderers/find-renderer';
import { makeFolderOf } from '../stores/make-folder';
import { temporaryName } from '../stores/whole-file';
import { dataRemarks, heldOutRemarks } from './data-remarks';
import type { ReadDataset } from './dataset-source';
import { checkHeldOut, prepareExamples } from './prepare-examples';
import { writePreparedData } from './prepared-data';
import type { RunRecord } from './run-folder';
import { testDataPath, trainDataPath } from './run-folder';
import type { TrainedExamples } from './shared-examples';
import { trainedExamples } from './shared-examples';
import type { PluginCode } from './reinforcement/plugin-code';

export interface DataDependencies {
  readonly readDataset: ReadDataset;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
}

/** Where the data goes, and what it is rendered for. */
export interface DataPlace {
  readonly folder: string;
  readonly renderer: string;
  readonly contextLength: number | null;
  readonly onProgress: (what: string) => void;
  /** Told of a Python worker that is waited for. */
  readonly onWaiting?: TellWaiting;
  readonly signal: AbortSignal;
}

/** What a run trains on, for its record, and the evaluator that its test split becomes unasked. */
export interface PreparedSource {
  readonly data: RunRecord['data'];
  readonly testSet: EvaluatorConfig | null;
  /** What a person should know of the data. */
  readonly remarks?: readonly string[];
  /** The plug-in code that decides what is trained, where there is some. */
  readonly code?: PluginCode;
  /** The training rows, where they are known before anything is sampled. */
  readonly trained?: TrainedExamples;
}

/** Freezes the training split as tokens in the run's folder. Safe to run again: files are written whole. */
export async function prepareSupervisedData(
  dependencies: DataDependencies,
  config: SupervisedConfig,
  place: DataPlace,
): Promise<PreparedSource> {
  const { folder, onProgress, onWaiting, signal } = place;
  const waitFor = <Value>(work: Promise<Value>) => untilAborted(work, signal);
  const dataset = await waitFor(dependencies.readDataset(config.dataset, onWaiting));
  const { train, test } = await waitFor(splitRows(dependencies, config, dataset));
  const tokenizer = await waitFor(dependencies.tokenizerOf(config.model));
  const context = (onDone: (done: number) => void) => ({
    ...{ config, tokenizer, contextLength: place.contextLength, signal },
    renderer: findRenderer(place.renderer, tokenizer, config.templateArguments),
    onProgress: (done: number) => {
      onDone(done);
      signal.throwIfAborted();
    },
  });
  const prepared = await prepareExamples(
    train,
    context((done) => {
      onProgress(`${done} of ${train.length} examples rendered`);
    }),
  );
  const heldOut = await checkHeldOut(
    test,
    context((done) => {
      onProgress(`${done} of ${test.length} held-out examples rendered`);
    }),
  );
  const testSet = await writeTestSet(folder, heldOut.rows);
  const refusedRows = countListed(dataset.skipped) + prepared.refused.length;
  return {
    testSet,
    trained: trainedExamples(train),
    remarks: [...dataRemarks(config, dataset, prepared), ...heldOutRemarks(heldOut.refused)],
    data: {
      ...describeData(dataset),
      skippedCount: refusedRows,
      preparedHash: await writeTrainSet(folder, prepared.examples),
      trainCount: prepared.examples.length,
      testCount: heldOut.rows.length,
      truncatedCount: prepared.summary.cutRows,
      summary: { ...prepared.summary, refusedRows },
      lossGoneCount: prepared.lossGone.length,
      losslessCount: prepared.lossless.length,
    },
  };
}

function describeData({ source, contentHash }: LoadedDataset) {
  return {
    source: source.description,
    revision: source.revision ?? null,
    contentHash,
  };
}

export async function splitRows(
  { readDataset }: Pick<DataDependencies, 'readDataset'>,
  config: SupervisedConfig,
  dataset: LoadedDataset,
): Promise<{
  train: readonly ConversationRow[];
  test: readonly ConversationRow[];
  /** Where held-out rows have files of their own. */
  testSet?: LoadedDataset;
}> {
  const { testPath, testSize } = config.dataset;
  if (testPath !== undefined) {
    const { onBadRow, split, ignoreKeys, fields } = config.dataset;
    const test = await readDataset({ path: testPath, onBadRow, split, ignoreKeys, fields, testSize: 0 });
    return { train: dataset.rows, test: test.rows, testSet: test };
  }
  return splitTrainTest(dataset.rows, { testSize, seed: config.seed });
}

async function writeTrainSet(
  folder: string,
  examples: Parameters<typeof writePreparedData>[1],
): Promise<string> {
  const path = trainDataPath(folder);
  await makeFolderOf(path);
  return writePreparedData(path, examples);
}

/** The test split becomes an `nll` evaluator unasked. */
async function writeTestSet(
  folder: string,
  rows: readonly ConversationRow[],
): Promise<EvaluatorConfig | null> {
  if (rows.length === 0) return null;
  const path = testDataPath(folder);
  await makeFolderOf(path);
  const temporary = temporaryName(path);
  await writeFile(
    temporary,
    rows.map(({ messages, tools }) => `${jsonText({ messages, tools })}\n`).join(''),
  );
  await rename(temporary, path);
  const dataset = { path, split: 'train', testSize: 0, onBadRow: 'error' as const };
  return { type: 'nll', name: 'test', dataset, concurrency: 64 };
}
