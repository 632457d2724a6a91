import type { SampleRequest, Sampler, SampledSequence } from '../../../../src/core/sampling';
import { NO_LIMITS } from '../../../../src/core/reinforcement/limits';
import { findRenderer } from '../../../../src/renderers/find-renderer';
import type { RolloutSite } from '../../../../src/training/rollouts/rollout-site';
import { CharacterTokenizer } from '../../renderers/character-tokenizer';

/** Remembers what it wrote: rollouts write the same pieces over and over. */
class RememberingTokenizer extends CharacterTokenizer {
  private readonly known = new Map<string, number[]>();

  override encode(text: string, options: { allowSpecial?: boolean } = {}): number[] {
    const key = `${String(options.allowSpecial)} ${text}`;
    const tokens = this.known.get(key) ?? super.encode(text, options);
    this.known.set(key, tokens);
    return [...tokens];
  }
}

export const tokenizer = new RememberingTokenizer();

/** What the scripted policy says to a prompt, as text with its special tokens; or the end of waiting. */
export type Script = (
  prompt: string,
  request: SampleRequest,
  signal: AbortSignal | undefined,
) => string | Promise<string>;

/** A policy that says what its script says; each token's log-probability is a float32 made of the seed and the place. */
export function scriptedPolicy(script: Script): Sampler & { readonly requests: SampleRequest[] } {
  const requests: SampleRequest[] = [];
  return {
    requests,
    async sample(request, options) {
      requests.push(request);
      const text = await script(tokenizer.decode(request.prompt), request, options?.signal);
      return { sequences: [sequenceOf(text, request)], promptLogprobs: null };
    },
  };
}

function sequenceOf(text: string, { params }: SampleRequest): SampledSequence {
  const whole = tokenizer.encode(text, { allowSpecial: true });
  const tokens = whole.slice(0, params.maxTokens);
  const stops: readonly (string | number)[] = params.stop ?? [];
  return {
    tokens,
    logprobs: tokens.map((_, index) => Math.fround(-((params.seed ?? 0) % 97) / 97 - index / 7)),
    stopReason: stops.includes(tokens.at(-1) ?? -1) || tokens.length < params.maxTokens ? 'stop' : 'length',
  };
}

export function siteWith(
  sampler: Sampler,
  { rendererName = 'everstep', ...given }: Partial<RolloutSite> & { readonly rendererName?: string } = {},
): RolloutSite {
  return {
    sampler,
    renderer: findRenderer(rendererName, tokenizer),
    contextLength: 4096,
    limits: NO_LIMITS,
    strategy: { type: 'fail-fast' },
    temperature: 1,
    now: () => performance.now(),
    ...given,
  };
}

/** The sum that a prompt asks for. */
export function sumAskedFor(prompt: string): number {
  const [, left = '', right = ''] = /(\d+)\+(\d+)=/.exec(prompt) ?? [];
  return Number(left) + Number(right);
}
