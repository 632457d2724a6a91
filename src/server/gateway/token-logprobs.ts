import type { TokenCells } from '../../core/sampling';
import { rowsOfCells } from '../../core/sampling-scores';
import type { Tokenizer } from '../../core/tokenizer';
import type { ContentLogprob, NamedLogprob } from './chat-schemas';
import type { DrawnChoice } from './draw';

/** JSON has no infinity; OpenAI says this of tokens that cannot come. */
const IMPOSSIBLE = -9999;
const BROKEN_CHARACTER = '�';

export function boundedLogprob(logprob: number | undefined): number {
  return logprob === undefined || !(logprob > IMPOSSIBLE) ? IMPOSSIBLE : logprob;
}

/** Log-probabilities of the tokens of a chat completion. */
export function contentLogprobs(choice: DrawnChoice, tokenizer: Tokenizer): ContentLogprob[] {
  const rows = topRows(choice.topLogprobs);
  return choice.tokens.map((token, index) => ({
    ...named(token, choice.logprobs?.[index], tokenizer),
    top_logprobs: (rows[index] ?? []).map((cell) => named(cell.token, cell.logprob, tokenizer)),
  }));
}

export function topRows(cells: TokenCells | undefined): ReturnType<typeof rowsOfCells> {
  return cells ? rowsOfCells(cells) : [];
}

function named(token: number, logprob: number | undefined, tokenizer: Tokenizer): NamedLogprob {
  const text = tokenizer.decode([token]);
  const bytes = text.includes(BROKEN_CHARACTER) ? null : [...Buffer.from(text)];
  return { token: text, logprob: boundedLogprob(logprob), bytes };
}
