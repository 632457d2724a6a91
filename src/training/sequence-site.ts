import type { TrainingConfig } from '../config/training-config';
import type { Tokenizer } from '../core/tokenizer';
import type { SequenceSite } from '../evaluation/evaluators/nll-sequence';
import { findRenderer } from '../renderers/find-renderer';
import { rendererFor } from './model-checks';
import { supervisionOf } from './supervision-of';

export interface SequenceAccess extends Pick<SequenceSite, 'contextLength'> {
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
}

/** What conversations of a run's `nll` evaluators are measured with: as the run's snapshots will be. */
export async function openSequenceSite(
  config: TrainingConfig,
  { tokenizerOf, contextLength }: SequenceAccess,
): Promise<SequenceSite> {
  const tokenizer = await tokenizerOf(config.model);
  return {
    ...{ tokenizer, contextLength, supervision: supervisionOf(config) },
    renderer: findRenderer(rendererFor(config), tokenizer, config.templateArguments),
  };
}
