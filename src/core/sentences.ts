/** A text that others wrote, as a sentence of a longer message: with one full stop at its end, whether it brought one or not. */
export function asSentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?…][)"'`”]?$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
