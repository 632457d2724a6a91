import { holdsHalfCharacter } from '../../core/json-flaws';
import { RequestError } from '../http/request-error';

/** Refuses a request with half of a character anywhere in it: tokenizers would read another one in its place. */
export function refuseHalfCharacters(body: object): void {
  for (const [param, value] of Object.entries(body)) {
    if (!holdsHalfCharacter(value)) continue;
    throw new RequestError(400, {
      message: `${param} has half of a character (a surrogate alone), which no tokenizer can read. Correct the text.`,
      param,
    });
  }
}
