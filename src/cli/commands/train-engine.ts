import type { Environment } from '../../config/environment';
import type { SupervisedConfig } from '../../config/supervised-config';
import { DomainError } from '../../core/errors';

export interface EngineQuestion {
  /** `--engine`: a URL or "tinker". */
  readonly flag: string | undefined;
  readonly config: SupervisedConfig;
  readonly environment: Pick<Environment, 'engineUrl' | 'engineApiKey'>;
}

export const OFFICIAL_SERVICE = 'https://tinker.thinkingmachines.dev/services/tinker-prod';
/** Models the local engine has begin like this. */
const LOCAL_MODELS = 'everstep/';

/**
 * URL of the training service; null for the workers' own, the recorded local one.
 *
 * Order: `--engine`, `engine.url`, TINKER_BASE_URL, and with TINKER_API_KEY the official service for a model that the
 * local engine does not have.
 */
export function chooseEngine({ flag, config, environment }: EngineQuestion): string | null {
  if (flag !== undefined) return flag === 'tinker' ? OFFICIAL_SERVICE : flag;
  const url = config.engine.url ?? environment.engineUrl;
  if (url !== null) return url;
  const isRemote = environment.engineApiKey !== null && !config.model.startsWith(LOCAL_MODELS);
  return isRemote ? OFFICIAL_SERVICE : null;
}

/** The official service answers nobody without a key; the workers take it from the same environment. */
export function requireKey(url: string, { engineApiKey }: Pick<Environment, 'engineApiKey'>): void {
  if (engineApiKey !== null || hostOf(url) !== hostOf(OFFICIAL_SERVICE)) return;
  throw new DomainError(
    'bad-config',
    `The training service ${url} needs a key. Set TINKER_API_KEY, or name another service with --engine.`,
  );
}

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}
