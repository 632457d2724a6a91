import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { ROLLOUT_PRESETS } from '../../core/reinforcement/rollout-presets';
import type { ServerProfile } from '../../engines/tinker/profile';
import type { RolloutSite } from '../rollouts/rollout-site';

type SiteRules = Omit<RolloutSite, 'sampler' | 'renderer' | 'tokenizer' | 'contextLength' | 'now'>;

/** The rules of a run's rollouts, as its config has them. */
export function rolloutRulesOf(config: ReinforcementConfig): SiteRules {
  const { limits, ...rules } = ROLLOUT_PRESETS[config.rolloutRules];
  const { environmentTimeoutSeconds, graderTimeoutSeconds, ...bounds } = config.limits;
  const given = Object.fromEntries(Object.entries(bounds).filter(([, limit]) => limit !== undefined));
  return {
    ...rules,
    ...(environmentTimeoutSeconds !== undefined && { environmentTimeoutSeconds }),
    ...(graderTimeoutSeconds !== undefined && { graderTimeoutSeconds }),
    computeLogprobs: config.computeLogprobs,
    limits: { ...limits, maxTurnTokens: config.maxTokens, ...given },
    strategy: config.rolloutErrorTolerance,
    temperature: config.temperature,
  };
}

/** Where a service does not say how long a text may be, it refuses what is too long itself. */
const UNKNOWN_CONTEXT = 1_000_000;

export function contextLengthOf({ maxSequenceLength }: Pick<ServerProfile, 'maxSequenceLength'>): number {
  return maxSequenceLength ?? UNKNOWN_CONTEXT;
}
