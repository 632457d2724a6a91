import { z } from 'zod';
import type { EvaluatorConfig } from '../../config/evaluation-config';
import { DomainError } from '../../core/errors';
import { pythonQueue } from '../../core/python';
import type { CellScore } from '../../core/run';
import type { CellWork, EvaluationDependencies } from '../evaluators/evaluation-context';
import { identityOf } from '../evaluators/evaluation-context';
import { metricScores } from '../evaluators/metric-scores';
import { requireLink } from './python-link';

type PythonConfig = Extract<EvaluatorConfig, { type: 'python' }>;

/** A wait for a worker is handed to the retry of the activity, which shows it. */
const PATIENCE_MS = 15_000;

const Metrics = z.record(z.string(), z.number());

/**
 * Runs an evaluator of a Python worker, which samples by itself: what it has sampled when its worker dies, it samples
 * again. An attempt of ours that dies attaches to the evaluator where it is under way.
 */
export async function evaluateInPython(
  { python, engineUrl }: EvaluationDependencies,
  config: PythonConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const { evaluator, options } = config;
  const { name: model, path } = work.model;
  const answer = await requireLink(python, `Evaluator "${evaluator}"`).ask(
    {
      activity: 'runEvaluator',
      taskQueue: pythonQueue({ python: evaluator, taskQueue: config.taskQueue }),
      input: {
        evaluator,
        options,
        model,
        path,
        engineUrl: engineUrl ?? null,
        weights: identityOf(work.model),
      },
    },
    { signal: work.signal, patienceMs: PATIENCE_MS },
  );
  const metrics = Metrics.safeParse(answer);
  if (metrics.success) return metricScores(work.name, metrics.data);
  throw new DomainError(
    'bad-plugin',
    `Evaluator "${evaluator}" in Python answered something else than numbers by name. Use everstep_worker.py.`,
  );
}
