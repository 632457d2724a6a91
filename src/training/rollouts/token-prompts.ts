import type { Message } from '../../core/conversation';
import type { Tokenizer } from '../../core/tokenizer';
import type { TokenPrompt, TrainingStep } from '../environments/environment-dataset';
import { RolloutFailure } from './rollout-failure';

/** What follows a step that did not end its rollout: null where the prompt format writes it. */
export function nextTokenPrompt(
  before: TokenPrompt | null,
  { nextPrompt }: Pick<TrainingStep, 'nextPrompt'>,
): TokenPrompt | null {
  if (nextPrompt !== undefined) return nextPrompt;
  if (before === null) return null;
  const problem = 'step.nextPrompt of the environment: is missing, and the prompt before was one of tokens';
  throw new RolloutFailure('environment_garbage', new Error(problem));
}

/** A prompt of tokens as people read it: what it adds to what was read and written before, else all of it. */
export function shownPrompt(
  { tokens }: TokenPrompt,
  before: readonly number[],
  tokenizer: Tokenizer | undefined,
): readonly Message[] {
  if (tokenizer === undefined) return [];
  const continues = before.every((token, index) => token === tokens[index]);
  const added = continues ? tokens.slice(before.length) : tokens;
  return added.length === 0 ? [] : [{ role: 'user', content: tokenizer.decode(added) }];
}
