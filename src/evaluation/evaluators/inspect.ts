import { join } from 'node:path';
import type { EvaluatorConfig } from '../../config/evaluation-config';
import { DomainError } from '../../core/errors';
import type { CellScore } from '../../core/run';
import { digestOf } from '../digest';
import { evaluateTasks } from '../inspect/evaluate-tasks';
import { scoresOfLogs } from '../inspect/log/log-metrics';
import type { InspectAccess } from '../inspect/run/inspect-access';
import type { InspectSettings } from '../inspect/run/inspect-words';
import type { AskedTask } from '../inspect/task-name';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { identityOf } from './evaluation-context';
import { ofCell } from './journalled-work';

type InspectConfig = Extract<EvaluatorConfig, { type: 'inspect' }>;

/** Runs tasks of Inspect AI by Inspect itself. What the model answered is journalled, so that nothing is asked twice. */
export async function evaluateInspect(
  dependencies: EvaluationDependencies,
  config: InspectConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const asked = askedTasks(config);
  const logs = await evaluateTasks(asked, {
    site: dependencies,
    access: requireInspect(dependencies),
    settings: settingsOf(config),
    model: { name: work.model.name, checkpoint: work.model.path, identity: identityOf(work.model) },
    place: {
      ...ofCell(work),
      // One task is what the evaluator is; of several each has a folder.
      resultOf: (task) =>
        asked.length === 1
          ? { name: work.name, folder: work.folder }
          : { name: task, folder: join(work.folder, task) },
    },
    signal: work.signal,
    onAnswer: (done) => {
      work.onProgress({ done, total: done });
    },
  });
  return scoresOfLogs(logs);
}

/** The same task with the same arguments is one. */
export function askedTasks({ tasks, args, modelRoles }: InspectConfig): AskedTask[] {
  const roles = Object.keys(modelRoles).length > 0 && { roles: modelRoles };
  const asked = tasks.map((given): AskedTask => {
    if (typeof given === 'string') return { task: { task: given, args, ...roles }, name: null };
    const { task, name = null } = given;
    return { task: { task, args: { ...args, ...given.args }, ...roles }, name };
  });
  return [...new Map(asked.map((each) => [digestOf(each.task), each])).values()];
}

function settingsOf(config: InspectConfig): InspectSettings {
  const { temperature, maxTokens, topP, topK, seed, limit, epochs } = config;
  const { maxConnections, retryOnError, timeoutSeconds } = config;
  return {
    ...{ temperature, maxTokens, topP, topK, seed, limit, epochs },
    ...{ maxConnections, retryOnError, timeoutSeconds },
  };
}

function requireInspect({ inspect }: EvaluationDependencies): InspectAccess {
  if (inspect) return inspect;
  throw new DomainError(
    'bad-config',
    'evaluators: this worker has no way to run Inspect AI. Leave type: inspect out.',
  );
}
