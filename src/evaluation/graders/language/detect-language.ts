/**
 * Which language a text is written in: naive Bayes over sequences of one to three characters, with the method and the
 * profiles of langdetect 1.0.9 (55 languages), which the official IFEval asks.
 *
 * The original draws sequences at random without a seed, so that it can answer differently from call to call where two
 * languages are about equally likely; here the draws are seeded and a text has one answer.
 */
import { createRandom } from '../../../core/random';
import { composeVietnamese, normalizeCharacter, withoutForeignLatin } from './character-classes';
import type { LanguageProfiles } from './profiles';
import { languageProfiles } from './profiles';

const TEXT_LIMIT = 10_000;
/** Links and addresses are looked for in this much; 10,000 characters without them are all that is read. */
const SCAN_LIMIT = 200_000;
/** The original has 7; with more, the draws decide less. */
const TRIALS = 28;
const DRAW_LIMIT = 1000;
const ALPHA = 0.5;
const ALPHA_WIDTH = 0.05;
const BASE_FREQUENCY = 10_000;
const CONVERGED = 0.99999;
const SEED = 0;

/** The language's code (ISO 639-1, Chinese as zh-cn or zh-tw); null where the text has nothing to go by. */
export function detectLanguage(text: string): string | null {
  const profiles = languageProfiles();
  const sequences = knownSequences(text, profiles);
  if (sequences.length === 0) return null;
  const random = createRandom(SEED);
  const sums = new Float64Array(profiles.languages.length);
  for (let trial = 0; trial < TRIALS; trial++) {
    const likelihoods = drawUntilConverged(sequences, sums.length, random);
    for (const [language, likelihood] of likelihoods.entries())
      sums[language] = (sums[language] ?? 0) + likelihood;
  }
  return profiles.languages[indexOfLargest(sums)] ?? null;
}

function knownSequences(text: string, { sequences, kanji }: LanguageProfiles): Float64Array[] {
  const found: Float64Array[] = [];
  let window = ' ';
  for (const original of withoutForeignLatin(readableCharacters(text))) {
    const character = normalizeCharacter(original, kanji);
    const last = window.at(-1) ?? ' ';
    window = nextWindow(window, last, character);
    // Words in capitals are counted by their first letter alone: the profiles hold ordinary spelling.
    if (!(isCapital(character) && isCapital(last))) collect(window, sequences, found);
  }
  return found;
}

function nextWindow(window: string, last: string, character: string): string {
  if (last === ' ') return character === ' ' ? ' ' : ` ${character}`;
  return window.slice(-2) + character;
}

function isCapital(character: string): boolean {
  return /\p{Uppercase}/u.test(character);
}

function collect(window: string, sequences: LanguageProfiles['sequences'], found: Float64Array[]): void {
  for (let length = 1; length <= window.length; length++) {
    const sequence = window.slice(-length);
    const probabilities = sequence === ' ' ? undefined : sequences.get(sequence);
    if (probabilities) found.push(probabilities);
  }
}

function readableCharacters(text: string): string[] {
  const prose = text
    .slice(0, SCAN_LIMIT)
    .replace(/https?:\/\/[-_.?&~;+=/#0-9A-Za-z]{1,2076}/g, ' ')
    .replace(/[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}/g, ' ');
  const characters = Array.from(composeVietnamese(prose)).slice(0, TEXT_LIMIT);
  return characters.filter((character, index) => character !== ' ' || characters[index - 1] !== ' ');
}

function drawUntilConverged(
  sequences: readonly Float64Array[],
  languageCount: number,
  random: () => number,
): Float64Array {
  const likelihoods = new Float64Array(languageCount).fill(1 / languageCount);
  const smoothing = (ALPHA + normalDeviate(random) * ALPHA_WIDTH) / BASE_FREQUENCY;
  for (let draw = 0; draw <= DRAW_LIMIT; draw++) {
    const sequence = sequences[Math.floor(random() * sequences.length)];
    if (sequence) update(likelihoods, sequence, smoothing);
    if (draw % 5 === 0 && normalizeToOne(likelihoods) > CONVERGED) break;
  }
  return likelihoods;
}

function update(likelihoods: Float64Array, sequence: Float64Array, smoothing: number): void {
  // The factor `smoothing` is common to all languages, so the others need no visit before the next normalization.
  for (let index = 0; index < sequence.length; index += 2) {
    const language = sequence[index] ?? 0;
    likelihoods[language] = (likelihoods[language] ?? 0) * (1 + (sequence[index + 1] ?? 0) / smoothing);
  }
}

function normalizeToOne(likelihoods: Float64Array): number {
  let sum = 0;
  for (const likelihood of likelihoods) sum += likelihood;
  let largest = 0;
  for (const [language, likelihood] of likelihoods.entries()) {
    likelihoods[language] = likelihood / sum;
    largest = Math.max(largest, likelihood / sum);
  }
  return largest;
}

function normalDeviate(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function indexOfLargest(values: Float64Array): number {
  return values.reduce((best, value, index) => (value > (values[best] ?? 0) ? index : best), 0);
}
