import type { SampleResult } from '../../core/sampling';
import type { TokenLogprob } from '../../core/sampling-scores';
import type { Tokenizer } from '../../core/tokenizer';
import type { CompletionBody, CompletionChoice, CompletionLogprobs } from './completion-schemas';
import type { DrawnChoice } from './draw';
import { boundedLogprob, topRows } from './token-logprobs';

interface TextOptions {
  readonly body: Pick<CompletionBody, 'echo' | 'logprobs' | 'max_tokens'>;
  readonly prompt: readonly number[];
  readonly result: SampleResult;
  readonly tokenizer: Tokenizer;
  readonly index: number;
}

interface Scored {
  readonly token: number;
  readonly logprob: number | null;
  readonly top: readonly TokenLogprob[] | null;
}

/** One choice of a text completion as clients read it. */
export function readTextChoice(choice: DrawnChoice, options: TextOptions): CompletionChoice {
  const { body, prompt, tokenizer, index } = options;
  const isEchoOnly = body.max_tokens === 0;
  const written = isEchoOnly ? '' : tokenizer.decode(choice.tokens) + choice.rest;
  const echoed = body.echo === true ? tokenizer.decode(prompt) : '';
  return {
    index,
    text: echoed + written,
    logprobs:
      body.logprobs == null ? null : logprobsOf(scoredTokens(choice, options), body.logprobs, tokenizer),
    finish_reason: isEchoOnly ? 'length' : choice.finish,
  };
}

function scoredTokens(choice: DrawnChoice, { body, prompt, result }: TextOptions): Scored[] {
  const promptTop = topRows(result.topPromptLogprobs);
  const drawnTop = topRows(choice.topLogprobs);
  const echoed = prompt.map((token, position): Scored => ({
    token,
    // Nothing predicts the first token.
    logprob: position === 0 ? null : boundedLogprob(result.promptLogprobs?.[position] ?? undefined),
    top: position === 0 ? null : (promptTop[position] ?? []),
  }));
  const drawn = choice.tokens.map((token, position): Scored => ({
    token,
    logprob: boundedLogprob(choice.logprobs?.[position]),
    top: drawnTop[position] ?? [],
  }));
  return [...(body.echo === true ? echoed : []), ...(body.max_tokens === 0 ? [] : drawn)];
}

function logprobsOf(scored: readonly Scored[], topCount: number, tokenizer: Tokenizer): CompletionLogprobs {
  const tokens = scored.map(({ token }) => tokenizer.decode([token]));
  let offset = 0;
  return {
    tokens,
    token_logprobs: scored.map(({ logprob }) => logprob),
    top_logprobs:
      topCount === 0 ? null : scored.map((each, position) => topOf(each, tokens[position] ?? '', tokenizer)),
    text_offset: tokens.map((text) => {
      const start = offset;
      offset += text.length;
      return start;
    }),
  };
}

/** The likeliest tokens, and the one that came, as OpenAI has it; of two that are written alike the likelier one stands. */
function topOf({ logprob, top }: Scored, text: string, tokenizer: Tokenizer): Record<string, number> | null {
  if (logprob === null || top === null) return null;
  const named = new Map<string, number>();
  for (const cell of top) {
    const name = tokenizer.decode([cell.token]);
    named.set(name, Math.max(named.get(name) ?? -Infinity, boundedLogprob(cell.logprob)));
  }
  return Object.fromEntries([[text, logprob], ...named]);
}
