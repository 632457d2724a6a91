import type { JudgeConfig } from '../../config/judge-config';
import type { JudgeSource, ModelSource } from '../../core/benchmark-run';

type JudgeOptions = Pick<
  JudgeConfig,
  'temperature' | 'topP' | 'maxTokens' | 'votes' | 'concurrency' | 'timeoutSeconds' | 'cache'
>;

/** A judge once for each of its votes. */
export function judgeSourcesOf(options: JudgeOptions, model: ModelSource): JudgeSource[] {
  const { temperature, topP, maxTokens, votes, concurrency, timeoutSeconds, cache } = options;
  return Array.from({ length: votes }, (_, vote) => ({
    ...{ model, temperature, topP, concurrency, timeoutSeconds },
    ...(maxTokens !== undefined && { maxTokens }),
    ...(vote > 0 && { vote }),
    ...(!cache && { isFresh: true as const }),
  }));
}
