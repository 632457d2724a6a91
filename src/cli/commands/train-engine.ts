import { refuseKeyInAddress } from '../../config/engine-address';
import { isOfficialService, OFFICIAL_SERVICE } from '../../core/official-service';
import type { Environment } from '../../config/environment';
import type { TrainingConfig } from '../../config/training-config';
import { DomainError } from '../../core/errors';

export interface EngineQuestion {
  /** `--engine`: a URL or "tinker". */
  readonly flag: string | undefined;
  readonly config: TrainingConfig;
  readonly environment: Pick<Environment, 'engineUrl' | 'engineApiKey'>;
}

export interface ChosenEngine {
  readonly url: string;
  /** What made it the one, for a person to see. */
  readonly because: string;
}

/** Models the local engine has begin like this. */
const LOCAL_MODELS = 'everstep/';

/**
 * The training service; null for the workers' own, the recorded local one.
 *
 * Order: `--engine`, `engine.url`, TINKER_BASE_URL, and with TINKER_API_KEY the official service for a model that the
 * local engine does not have.
 */
export function chooseEngine({ flag, config, environment }: EngineQuestion): ChosenEngine | null {
  const { engineUrl, engineApiKey } = environment;
  const instead = (url: string): string =>
    engineUrl === null || engineUrl === url ? '' : '; TINKER_BASE_URL is set and not used';
  if (flag === 'tinker')
    return { url: OFFICIAL_SERVICE, because: `--engine tinker${instead(OFFICIAL_SERVICE)}` };
  if (flag !== undefined) return named(flag, '--engine', instead(flag));
  const { url } = config.engine;
  if (url !== undefined) return named(url, 'engine.url', instead(url));
  if (engineUrl !== null) return named(engineUrl, 'TINKER_BASE_URL');
  if (engineApiKey === null || config.model.startsWith(LOCAL_MODELS)) return null;
  return {
    url: OFFICIAL_SERVICE,
    because: 'TINKER_API_KEY is set and the local engine does not have this model',
  };
}

function named(url: string, source: string, remark = ''): ChosenEngine {
  refuseKeyInAddress(source, url);
  return { url, because: `${source}${remark}` };
}

/** The official service answers nobody without a key of its own; the workers take it from the same environment. */
export function requireKey(url: string, { engineApiKey }: Pick<Environment, 'engineApiKey'>): void {
  if (!isOfficialService(url)) return;
  if (engineApiKey === null) {
    throw new DomainError(
      'bad-config',
      `The training service ${url} needs a key. Set TINKER_API_KEY, or name another service with --engine.`,
    );
  }
  if (/^(tml-|eyJ)\S+$/.test(engineApiKey)) return;
  throw new DomainError(
    'bad-config',
    `TINKER_API_KEY is no key of the training service ${url}: those begin with "tml-". Correct it.`,
  );
}
