import type { SampleRequest } from '../../../core/sampling';
import { refusalOfScores } from '../../../core/sampling-scores';
import type { BaseModelInfo } from '../model-runtime';
import { ProtocolError } from './protocol-error';

export function checkPrompt(prompt: readonly number[], base: BaseModelInfo): void {
  if (prompt.length === 0) throw new ProtocolError(422, 'Invalid request: the prompt is empty.');
  if (prompt.length > base.contextLength) {
    throw new ProtocolError(
      422,
      `Invalid request: the prompt has ${prompt.length} tokens; ${base.name} takes at most ${base.contextLength}.`,
    );
  }
  const outside = prompt.find((token) => token < 0 || token >= base.vocabSize);
  if (outside !== undefined) {
    throw new ProtocolError(
      422,
      `Invalid request: token ${outside} is not in the vocabulary of ${base.name} (0 to ${base.vocabSize - 1}).`,
    );
  }
}

export function checkScores(request: SampleRequest, base: BaseModelInfo): void {
  const refusal = refusalOfScores(request, base);
  if (refusal !== null) throw new ProtocolError(422, `Invalid request: ${refusal}`);
}
