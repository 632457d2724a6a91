import { DomainError } from '../../../core/errors';
import { problemOfTags } from '../../../core/metric-names';
import { readRows } from '../../../datasets/read-rows';
import { readEachRow } from '../../../datasets/read-each-row';
import { placeOfRow, withPlace } from '../../../datasets/row-place';
import { isGiven, isRow, listInText } from '../../../evaluation/graders/row-fields';
import type { Row } from '../../../evaluation/graders/row-grader';
import { spellings, withNumbersAsWritten } from './answers-as-written';
import { isSaid, listed, requireAsked, withoutKeys } from '../own-row';
import type { Passage } from './passage-index';
import { comparedText, haveOneInCommon } from './text-answer';

export interface Question {
  readonly question: string;
  /** Any of them is right. */
  readonly answers: readonly string[];
  /** By which metrics are split. */
  readonly source: string;
}

/** The passages of a corpus. A row that is none is refused by file and line. */
export async function readPassages(path: string): Promise<Passage[]> {
  const rows = await readRows({ path, key: 'environment.corpus', listsUnread: true });
  return readEachRow(rows, passageOf, { form: 'A corpus has rows of title and text.' });
}

/** Questions with their right answers. One that nobody could answer rightly, or anybody, is refused by file and line. */
export async function readQuestions(path: string, ignored: readonly string[] = []): Promise<Question[]> {
  const rows = await readRows({ path, key: 'environment.questions', listsUnread: true, keepsWriting: true });
  const read = (row: Row) => {
    const place = placeOfRow(row);
    const written = withNumbersAsWritten(row, [...ANSWERS, ...ALIASES, 'reward_model']);
    const question = questionOf(withoutKeys(written, ignored));
    return place ? withPlace(question, place) : question;
  };
  return readEachRow(rows, read, { form: 'Questions have rows of question and answer.' });
}

function passageOf(row: Row, index: number): Passage {
  return {
    id: isSaid(row['id']) ? textOf(row['id'], 'id') : String(index),
    title: isSaid(row['title']) ? textOf(row['title'], 'title') : '',
    text: saidText(row, 'text'),
  };
}

/** Questions of the field stand beside the passage that answers them, which is what is searched for. */
const TO_BE_FOUND = ['context'];

function questionOf(row: Row): Question {
  requireAsked(row, { asked: ['question'], places: ['question'], unspoken: TO_BE_FOUND });
  const question = saidText(row, 'question');
  requireCompared(question, 'question');
  requireAnswerable(row);
  return { question, answers: answersOf(row), source: sourceOf(row) };
}

/** It becomes a part of metrics' names. */
function sourceOf(row: Row): string {
  const field = 'data_source';
  if (!isSaid(row[field])) return 'search';
  const source = textOf(row[field], field);
  const problem = problemOfTags([source]);
  if (problem === null) return source;
  throw problemOf(
    field,
    `${problem}. Metrics are split by it: correct it, or name it in environment.ignoreKeys.`,
  );
}

/** As MuSiQue says of questions whose passages were taken away. */
function requireAnswerable({ answerable }: Row): void {
  if (answerable !== false && answerable !== 'false' && answerable !== 'False') return;
  throw problemOf(
    'answerable',
    'says that the documents do not answer the question. Remove the row, or name it in environment.ignoreKeys.',
  );
}

/** Where the data sets of the field have the answer. */
const ANSWERS = [
  ...['answer', 'golden_answers', 'answers', 'gold_answer', 'gold_answers', 'possible_answers'],
  ...['correct_answer', 'final_answer', 'expected_answer', 'reference_answer', 'ground_truth', 'target'],
];
/** What PopQA and Natural Questions have beside it. */
const SAID_ELSEWHERE = ['obj', 'short_answer', 'short_answers'];
/** Other words for it, as MuSiQue and PopQA have them. */
const ALIASES = ['answer_aliases', 'aliases', 'o_aliases'];
/** Where verl and Search-R1 keep it. */
const VERL_ANSWER = 'reward_model.ground_truth';

/** What stands under each of the fields, which have to agree, and the other words for it. */
function answersOf(row: Row): readonly string[] {
  const read = withVerlAnswer(row);
  const given = [...ANSWERS, VERL_ANSWER].filter((name) => isGiven(read[name]));
  const [first = ANSWERS.find((name) => name in row) ?? 'answer', ...others] = given;
  let answers = [...answersIn(read, first), ...aliasesOf(row)];
  for (const name of others) answers = [...answers, ...agreeing(read, { name, first, answers })];
  const contradicting = SAID_ELSEWHERE.find((name) => contradicts(row[name], answers));
  if (contradicting !== undefined) throw twoAnswers(first, contradicting);
  return answers;
}

function withVerlAnswer(row: Row): Row {
  const model = listedAsWritten(row['reward_model']);
  return isRow(model) ? { ...row, [VERL_ANSWER]: model['ground_truth'] } : row;
}

interface Agreeing {
  readonly name: string;
  readonly first: string;
  readonly answers: readonly string[];
}

/** Of answers that have none in common one is wrong, and nobody knows which. */
function agreeing(row: Row, { name, first, answers }: Agreeing): readonly string[] {
  const others = otherAnswersIn(row, name);
  if (haveOneInCommon(others, answers)) return others;
  throw twoAnswers(first, name);
}

/** Of what may be something else, only texts are compared. */
function contradicts(value: unknown, answers: readonly string[]): boolean {
  const said = listed(value);
  const texts = (Array.isArray(said) ? said : [said]).filter(isText);
  return texts.length > 0 && !haveOneInCommon(texts, answers);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function twoAnswers(first: string, second: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `fields "${first}" and "${second}" give two answers that differ. Remove one, or name it in environment.ignoreKeys.`,
  );
}

function otherAnswersIn(row: Row, name: string): readonly string[] {
  try {
    return answersIn(row, name);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError('bad-dataset', `${error.message} Or name it in environment.ignoreKeys.`, {
      cause: error,
    });
  }
}

function answersIn(row: Row, field: string): readonly string[] {
  const given = requireGiven(row, field);
  const struct = structIn(given);
  const value = struct ? requireGiven({ [field]: struct.answers }, field) : given;
  const answers = textsIn(value, field);
  for (const answer of answers) requireCompared(answer, field);
  return [...answers, ...(struct ? aliasesOf(struct.whole) : [])];
}

/**
 * TriviaQA has the answer in an object with its other words (what else stands there are these once more, without capitals), SQuAD
 * with where it begins, Search-R1 as what is aimed at.
 */
function structIn(given: unknown): { readonly whole: Row; readonly answers: unknown } | null {
  const whole = listedAsWritten(given);
  if (!isRow(whole)) return null;
  const name = ['value', 'text', 'target'].find((key) => key in whole);
  return name === undefined ? null : { whole, answers: whole[name] };
}

/** Those of which nothing is compared say nothing. */
function aliasesOf(row: Row): readonly string[] {
  return ALIASES.filter((name) => isGiven(row[name]))
    .flatMap((name) => textsIn(row[name], name))
    .filter((alias) => comparedText(alias) !== '');
}

/** One or a list of them, also as JSON text. */
function textsIn(value: unknown, field: string): string[] {
  const list = typeof value === 'string' ? listAsWritten(value, field) : value;
  return (Array.isArray(list) ? list : [value]).map((each: unknown) => textOf(each, field));
}

function listedAsWritten(value: unknown): unknown {
  return typeof value === 'string' ? spellings(listed(value), value.trim()) : value;
}

/** undefined where the text is no list. */
function listAsWritten(text: string, field: string): unknown {
  const list = listInText(text, field);
  return list && spellings(list, text.trim());
}

function saidText(row: Row, field: string): string {
  return textOf(requireGiven(row, field), field);
}

function requireGiven(row: Row, field: string): unknown {
  const value = row[field];
  if (isGiven(value)) return value;
  throw problemOf(field, value === undefined ? 'is missing.' : 'is empty.');
}

function textOf(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number')
    throw problemOf(field, 'has to be a text or a number, of answers also a list of these.');
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    throw problemOf(field, 'is a number of more digits than numbers keep here. Write it as a text.');
  return String(value);
}

/** What is nothing when answers are compared would make every empty answer right. */
function requireCompared(text: string, field: string): void {
  if (comparedText(text) !== '') return;
  throw problemOf(
    field,
    `${JSON.stringify(text)} is nothing without punctuation and articles, as answers are compared. Give words, or remove the row.`,
  );
}

function problemOf(field: string, problem: string): DomainError {
  return new DomainError('bad-dataset', `field "${field}": ${problem}`);
}
