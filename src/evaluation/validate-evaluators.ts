import type { EvaluatorConfig } from '../config/evaluation-config';
import { findBenchmark } from './benchmarks';
import { givenDates, withinDates } from './benchmarks/date-window';
import { buildEvaluator } from './evaluators/plugin-evaluator';
import { requireTaskFile } from './inspect/task-source';
import { checkJudges } from './judges/find-judge';
import { needsJudge } from './judges/judged-grader';
import { findKind } from './kinds';
import type { PluginRegistry } from './plugins';
import { findGrader } from './plugins';

type CustomConfig = Extract<EvaluatorConfig, { type: 'custom' }>;
type BenchmarkConfig = Extract<EvaluatorConfig, { type: 'benchmark' }>;

/** Refuses what no worker with these plug-ins could run. Called before the first step. */
export function validateEvaluators(configs: readonly EvaluatorConfig[], plugins: PluginRegistry): void {
  for (const config of configs) validateEvaluator(config, plugins);
}

function validateEvaluator(config: EvaluatorConfig, plugins: PluginRegistry): void {
  switch (config.type) {
    case 'benchmark':
      checkBenchmark(config, plugins);
      return;
    case 'custom':
      checkGrader(config.grader, plugins);
      return;
    case 'kind':
      findKind(config.task, plugins, config.options);
      return;
    case 'plugin':
      buildEvaluator(config, plugins);
      return;
    case 'modelGraded':
    case 'comparison':
      checkJudges(config);
      return;
    case 'inspect':
      // What a file or a package holds is known to Inspect alone.
      for (const task of config.tasks) requireTaskFile(typeof task === 'string' ? task : task.task);
      return;
    default:
    // What a Python worker has, it says when it is asked.
  }
}

function checkGrader(grader: CustomConfig['grader'], plugins: PluginRegistry): void {
  if (typeof grader === 'string') findGrader(plugins, grader);
}

function checkBenchmark(config: BenchmarkConfig, plugins: PluginRegistry): void {
  const { grader } = withinDates(findBenchmark(config.benchmark, plugins), givenDates(config));
  if (!grader.judging) return;
  if (!config.judge) throw needsJudge(grader.name);
  checkJudges({ name: config.name ?? config.benchmark, judge: config.judge });
}
