import type { JudgeSource } from '../../../core/benchmark-run';
import type { Message } from '../../../core/conversation';
import { DomainError } from '../../../core/errors';
import { GENERATION } from '../../benchmarks/benchmark';
import { digestOf } from '../../digest';
import { BASELINE_STAGE } from '../baseline-stage';
import { judgeIdentity } from '../judged-grader';
import type { Opponent } from './pairwise';

/** The replies that the dataset holds. */
export const targetOpponent: Opponent = {
  stamp: 'target',
  answerFor(_desk, { id, target }) {
    if (target !== null) return Promise.resolve(target);
    throw new DomainError(
      'bad-dataset',
      `Example "${id}" has no reply to compare with. End each conversation with one, or set baseline: base.`,
      { category: 'user' },
    );
  },
};

/** A model, asked as the one that is measured; its answers are kept for the next step's comparison. */
export function sampledOpponent(source: JudgeSource, systemPrompt: string | undefined): Opponent {
  const system: Message[] = systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }];
  return {
    stamp: digestOf([judgeIdentity(source), systemPrompt ?? null]).slice(0, 12),
    answerFor: (desk, { messages, tools }) =>
      desk.askModel(source, {
        stage: BASELINE_STAGE,
        messages: [...system, ...messages],
        ...(tools && { tools }),
        maxTokens: source.maxTokens ?? GENERATION.maxTokens,
      }),
  };
}
