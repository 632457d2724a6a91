import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { CellScore } from '../../core/run';
import { promptFormatOf } from '../../renderers/template-arguments';
import { digestOf } from '../digest';
import { findKind } from '../kinds';
import { chooseIndices } from '../kinds/evaluate-kind';
import { loadKindRows } from '../kinds/load-kind-rows';
import { kindIdentity, scoreKind } from '../kinds/score-kind';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { identityOf } from './evaluation-context';

type KindConfig = Extract<EvaluatorConfig, { type: 'kind' }>;

/** Measures a task by generation or likelihood; its answers are journalled, and its files are those of a benchmark. */
export async function evaluateKindCell(
  dependencies: EvaluationDependencies,
  { task, options, reduce, maxExamples, concurrency }: KindConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const startedAt = performance.now();
  const kind = findKind(task, dependencies.plugins, options);
  const { rows } = await loadKindRows(kind, dependencies.readBenchmarkRows);
  const asked = { rows, indices: chooseIndices(kind.name, rows.length, maxExamples), reduce };
  const { score } = await scoreKind(dependencies, kind, {
    ...asked,
    ...{ name: work.name, folder: work.folder, epoch: work.epoch, signal: work.signal, concurrency },
    weights: identityOf(work.model),
    identity: {
      ...kindIdentity(kind, asked),
      promptHash: digestOf([promptFormatOf(dependencies.renderer)]),
      model: work.model.name,
      checkpoint: work.model.path,
    },
    seconds: () => (performance.now() - startedAt) / 1000,
    onAnswer: (done) => {
      work.onProgress({ done, total: asked.indices.length });
    },
    onWaiting: (waiting) => {
      work.onProgress({ waiting });
    },
  });
  return [score];
}
