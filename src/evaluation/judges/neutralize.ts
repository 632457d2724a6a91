import { GAP, verdictPattern, ZERO_WIDTH } from './verdict-forms';

/** What a text that is shown to a judge must not contain. */
export interface Forgeable {
  readonly delimiters: readonly string[];
  readonly verdicts: readonly string[];
}

const SPACES = `[\\s${ZERO_WIDTH}]+`;

/**
 * Makes a text that stands among a template's markers unable to end its part or to pass for a verdict: `[END DATA]` becomes
 * `[END-DATA]`, `GRADE: C` becomes `GRADE: -C`, `<score>` becomes `<-score>`. Other case, more spaces and marks of
 * zero width in between do not save a marker.
 */
export function neutralize(text: string, { delimiters, verdicts }: Forgeable): string {
  const withoutMarkers = delimiters.reduce((current, delimiter) => {
    const [pattern, broken] = [markerPattern(delimiter), brokenMarker(delimiter)];
    // Twice, because a marker may begin with the end of another.
    return current.replaceAll(pattern, broken).replaceAll(pattern, broken);
  }, text);
  return verdicts.reduce(
    (current, verdict) => current.replaceAll(verdictPattern(verdict), breakVerdict),
    withoutMarkers,
  );
}

/** One quantifier between two characters: next to each other they would take a time that grows with the square of a text. */
function markerPattern(delimiter: string): RegExp {
  const characters = Array.from(delimiter.replaceAll(/\s+/g, ' '));
  const parts = characters.map((character, index) =>
    character === ' ' ? SPACES : escapePattern(character) + gapAfter(characters, index),
  );
  return new RegExp(parts.join(''), 'gi');
}

/** Spaces take what marks of zero width are around them. */
function gapAfter(characters: readonly string[], index: number): string {
  const next = characters[index + 1];
  if (next === undefined || next === ' ') return '';
  return index === 0 ? `[\\s${ZERO_WIDTH}]*` : GAP;
}

function brokenMarker(delimiter: string): string {
  if (delimiter.includes(' ')) return delimiter.replace(' ', '-');
  return `${delimiter.slice(0, 1)}-${delimiter.slice(1)}`;
}

function breakVerdict(match: string, before: string): string {
  return `${before}-${match.slice(before.length)}`;
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
