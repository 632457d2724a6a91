import { readEnvironment } from '../config/environment';
import type { TrainingConfig } from '../config/training-config';
import { tokenizersOf } from '../training/render-file';
import { openSequenceSite } from '../training/sequence-site';
import { showData } from '../training/show-data';
import type { DataRow, HeldOutRows } from '../training/shown-row';
import { refusedEvaluatorRows } from './check-training';
import { identifyDependencies } from './eval-identity';

/** What a run of a config would train on, row by row, and then what it would refuse beside it. Asks no Temporal server and no training service. */
export async function* showTrainingData(config: TrainingConfig): AsyncGenerator<DataRow | HeldOutRows> {
  const environment = readEnvironment();
  const { cacheFolder, huggingFaceToken: token, huggingFaceUrl: hubUrl, benchmarkDataFolder } = environment;
  const hub = { cacheFolder, ...(token !== null && { token }), ...(hubUrl !== null && { hubUrl }) };
  const { readBenchmarkRows, loadPlugins } = identifyDependencies(environment);
  const tokenizerOf = tokenizersOf(hub);
  yield* showData(config, {
    ...{ readBenchmarkRows, loadPlugins, datasets: hub, tokenizerOf },
    dataFolder: benchmarkDataFolder ?? undefined,
  });
  // The context of the model is known to the training service alone.
  const openSequences = () => openSequenceSite(config, { tokenizerOf, contextLength: null });
  yield* refusedEvaluatorRows(config, { cacheFolder, openSequences });
}
