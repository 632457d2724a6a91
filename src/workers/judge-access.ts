import { join } from 'node:path';
import type { Tokenizer } from '../core/tokenizer';
import type { JudgeAccess } from '../evaluation/judges/judge-access';
import type { EngineAccess } from '../training/engine-access';
import { checkJudgeEndpoint, checkJudgeWeights } from '../training/check-judge';
import { findCheckpointSource } from '../training/checkpoint-source';
import { createModelAccess } from '../training/model-access';
import type { RunStore } from '../stores/run-store';
import type { Permissions } from '../config/permissions';
import { sharedLimitsFolder } from './shared-limits';
import type { RunWorkersOptions } from './worker-options';

interface JudgeParts {
  readonly engines: EngineAccess;
  readonly tokenizer: (model: string) => Promise<Tokenizer>;
  readonly runs: RunStore;
  readonly permitsOf: JudgeAccess['permitsOf'];
  readonly permissions: Permissions;
  readonly stopping: AbortSignal;
}

/** Judges of all work of this process. What they say is kept in the store, for whoever asks the same. */
export function createJudgeAccess(
  options: Pick<RunWorkersOptions, 'store' | 'dataFolder' | 'openaiApiKey' | 'judgeApiKey'>,
  { engines, tokenizer, runs, permitsOf, permissions, stopping }: JudgeParts,
): JudgeAccess {
  const keyFor = (url: string) => permissions.keyFor(url, options.judgeApiKey ?? options.openaiApiKey);
  const models = createModelAccess({
    engines,
    tokenizerOf: tokenizer,
    sharedFolder: sharedLimitsFolder(options),
    keyFor,
    stopping,
  });
  return {
    models,
    permitsOf,
    cacheFolder: options.store.includes('://') ? null : join(options.store, 'judgements'),
    findCheckpoint: (checkpoint) => findCheckpointSource(runs, checkpoint),
    check: (model, signal) =>
      model.type === 'endpoint'
        ? checkJudgeEndpoint(model, keyFor(model.url))
        : checkJudgeWeights(models, model, signal),
  };
}
