import { smallestOf } from '../../core/extremes';
import type { Tokenizer } from '../../core/tokenizer';
import type { Renderer } from '../../renderers/renderer';

interface CutOptions {
  readonly texts: readonly string[];
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
}

export interface CutCompletion {
  /** What comes before the first of the texts. */
  readonly rawText: string;
  /** The same as a turn that the model ended itself, as the renderer reads it. */
  readonly tokens: readonly number[];
}

/** Ends a completion where the first of the texts begins; null where there is none of them. */
export function cutAtTexts(
  drawn: readonly number[],
  { texts, tokenizer, renderer }: CutOptions,
): CutCompletion | null {
  const last = drawn.at(-1);
  // The model's own end is no text it wrote.
  const written = last !== undefined && tokenizer.isSpecial(last) ? drawn.slice(0, -1) : drawn;
  const text = tokenizer.decode(written);
  const places = texts.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
  if (places.length === 0) return null;
  const rawText = text.slice(0, smallestOf(places));
  const [own] = renderer.stopSequences();
  const end = typeof own === 'number' ? [own] : tokenizer.encode(own ?? '', { allowSpecial: true });
  return { rawText, tokens: [...tokenizer.encode(rawText, { allowSpecial: true }), ...end] };
}
