import { z } from 'zod';
import { isRecord } from '../reply-blocks';
import { wrongField } from './wrong-field';

type Fields = Readonly<Record<string, unknown>>;

/** The largest vocabularies have a million words. */
export const MOST_IDS = 10_000_000;
/** The longest are some hundred blanks; a text is compared with one at each of its places. */
const MOST_CHARACTERS = 1000;

export const Word = z.string().max(MOST_CHARACTERS);

/** Words and merges of a model, in plain loops: there are hundreds of thousands. Throws an error that names the field. */
export function checkVocabulary(model: Fields): void {
  const { type, vocab, merges, unk_id: unknown } = model;
  if (type === 'Unigram' || (typeof type !== 'string' && Array.isArray(vocab))) checkScores(vocab, unknown);
  else checkIds(vocab);
  if (type === 'BPE' || (merges ?? null) !== null) checkMerges(merges);
}

function checkIds(vocab: unknown): void {
  if (!isRecord(vocab)) throw wrongField('model.vocab', 'has to be an object of words and their ids');
  for (const word of Object.keys(vocab)) {
    const id = vocab[word];
    checkWord('model.vocab', word);
    if (!isId(id))
      throw wrongField(
        'model.vocab',
        `holds ${shown(word)}, whose id is no whole number from 0 to ${MOST_IDS - 1}`,
      );
  }
}

function checkScores(vocab: unknown, unknown: unknown): void {
  if (!Array.isArray(vocab) || vocab.length === 0 || vocab.length > MOST_IDS)
    throw wrongField('model.vocab', `has to be a list of at most ${MOST_IDS} words and their scores`);
  vocab.forEach((entry: unknown, id) => {
    const [word, score] = isList(entry) ? entry : [];
    if (typeof word !== 'string' || typeof score !== 'number')
      throw wrongField(`model.vocab.${id}`, 'has to be a word and its score');
    checkWord(`model.vocab.${id}`, word);
  });
  if (typeof unknown === 'number' && unknown >= vocab.length)
    throw wrongField('model.unk_id', `is ${unknown}, and there are ${vocab.length} words`);
}

function checkMerges(merges: unknown): void {
  if (!Array.isArray(merges)) throw wrongField('model.merges', 'has to be a list');
  const areTexts = typeof merges[0] === 'string';
  for (let rank = 0; rank < merges.length; rank++) {
    const merge: unknown = merges[rank];
    if (areTexts ? isTextOfTwo(merge) : isPair(merge)) continue;
    throw wrongField(
      `model.merges.${rank}`,
      'has to be two texts, in a list or with a space between, as the first',
    );
  }
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isTextOfTwo(merge: unknown): boolean {
  return typeof merge === 'string' && merge.includes(' ');
}

function isPair(merge: unknown): boolean {
  return (
    Array.isArray(merge) && merge.length === 2 && typeof merge[0] === 'string' && typeof merge[1] === 'string'
  );
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MOST_IDS;
}

function checkWord(field: string, word: string): void {
  if (word.length <= MOST_CHARACTERS) return;
  throw wrongField(field, `holds ${shown(word)}, a word of more than ${MOST_CHARACTERS} characters`);
}

function shown(word: string): string {
  return JSON.stringify(word.slice(0, 40));
}
