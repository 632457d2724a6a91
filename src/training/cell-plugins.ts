import type { EvaluatorConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import { shellWord } from '../core/shell-word';
import { needsPlugins } from '../evaluation/needs-plugins';
import type { PluginRegistry } from '../evaluation/plugins';
import { NO_PLUGINS } from '../evaluation/plugins';
import type { LoadPlugins } from './plugin-file';
import type { RunRecord } from './run-folder';

interface AskedEvaluator {
  readonly run: string;
  readonly step: number;
  readonly evaluator: string;
  readonly config: EvaluatorConfig;
  /** Where somebody asked for it by name. */
  readonly folder?: string;
}

/** What a cell's evaluator needs of its run's plug-in file. One that has nothing of the plug-in file is measured whatever becomes of that. */
export async function cellPlugins(
  loadPlugins: LoadPlugins,
  record: RunRecord,
  { config, folder, ...asked }: AskedEvaluator,
): Promise<PluginRegistry> {
  if (!needsPlugins(config)) return NO_PLUGINS;
  return loadPlugins(record.config.plugins).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== 'bad-plugin' || folder !== undefined) throw error;
    throw new DomainError(error.code, `${error.message} ${laterText(asked)}`, { cause: error });
  });
}

function laterText(asked: Pick<AskedEvaluator, 'run' | 'step' | 'evaluator'>): string {
  const { run, step, evaluator } = asked;
  const [checkpoint, named] = [shellWord(`${run}@${step}`), shellWord(evaluator)];
  const commands = `everstep runs eval ${checkpoint} --evaluator ${named}; when the run has ended: everstep eval --checkpoint ${checkpoint} --evaluator ${named}`;
  return `Once it loads, a checkpoint that is kept is scored with: ${commands}`;
}
