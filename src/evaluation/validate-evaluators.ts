import type { EvaluatorConfig } from '../config/evaluation-config';
import { findBenchmark } from './benchmarks';
import { buildEvaluator } from './evaluators/plugin-evaluator';
import type { PluginRegistry } from './plugins';
import { findGrader } from './plugins';

/** Refuses what no worker with these plug-ins could run. Called before the first step. */
export function validateEvaluators(configs: readonly EvaluatorConfig[], plugins: PluginRegistry): void {
  for (const config of configs) validateEvaluator(config, plugins);
}

function validateEvaluator(config: EvaluatorConfig, plugins: PluginRegistry): void {
  switch (config.type) {
    case 'benchmark':
      findBenchmark(config.benchmark);
      return;
    case 'custom':
      findGrader(plugins, config.grader);
      return;
    case 'plugin':
      buildEvaluator(config, plugins);
      return;
    case 'nll':
  }
}
