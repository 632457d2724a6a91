import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

/** How often languages use sequences of one to three characters. */
export interface LanguageProfiles {
  readonly languages: readonly string[];
  /** Probability of a sequence in each language that has it: language index, probability, language index, … */
  readonly sequences: ReadonlyMap<string, Float64Array>;
  /** Chinese characters that are counted as one, each with the first of its class. */
  readonly kanji: ReadonlyMap<string, string>;
}

interface ProfileFile {
  readonly languages: readonly string[];
  readonly totals: readonly (readonly number[])[];
  readonly kanji: readonly string[];
  readonly grams: Readonly<Record<string, readonly number[]>>;
}

const FILE = path.join(__dirname, '../../../../data/languages/profiles.json.gz');

let loaded: LanguageProfiles | undefined;

/** Read once a process, at the first text whose language is asked for. */
export function languageProfiles(): LanguageProfiles {
  loaded ??= build(readProfiles());
  return loaded;
}

function readProfiles(): ProfileFile {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- our own data file, made once
  return JSON.parse(gunzipSync(readFileSync(FILE)).toString('utf8')) as ProfileFile;
}

function build({ languages, totals, kanji, grams }: ProfileFile): LanguageProfiles {
  const sequences = new Map<string, Float64Array>();
  for (const [sequence, counts] of Object.entries(grams)) {
    sequences.set(sequence, probabilities(sequence, counts, totals));
  }
  return { languages, sequences, kanji: new Map(kanji.flatMap(classPairs)) };
}

function probabilities(
  sequence: string,
  counts: readonly number[],
  totals: readonly (readonly number[])[],
): Float64Array {
  const pairs = Float64Array.from(counts);
  const length = Array.from(sequence).length - 1;
  for (let index = 0; index < pairs.length; index += 2) {
    const total = totals[pairs[index] ?? 0]?.[length] ?? 1;
    pairs[index + 1] = (pairs[index + 1] ?? 0) / total;
  }
  return pairs;
}

function classPairs(kanjiClass: string): [string, string][] {
  const characters = Array.from(kanjiClass);
  const [first = ''] = characters;
  return characters.map((character) => [character, first]);
}
