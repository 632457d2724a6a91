import { specialId, SPECIAL_TOKENS } from './tokenizer';
import { tokenizePrompt } from './conversation-tokens';
import type { SamplerModel } from '../../src/engines/local/model-runtime';

/** The share of questions answered exactly, greedily. */
export async function measureAccuracy(
  sampler: SamplerModel,
  questions: readonly { readonly user: string; readonly assistant: string }[],
): Promise<number> {
  const params = { maxTokens: 12, temperature: 0, topK: -1, topP: 1, stop: [specialId('<|end|>')] };
  const results = await Promise.all(
    questions.map(async ({ user, assistant }) => {
      const { sequences } = await sampler.sample({ prompt: tokenizePrompt(user), numSamples: 1, params });
      const bytes = (sequences[0]?.tokens ?? []).slice(0, -1).map((token) => token - SPECIAL_TOKENS.length);
      return Buffer.from(bytes).toString() === assistant;
    }),
  );
  return results.filter(Boolean).length / questions.length;
}
