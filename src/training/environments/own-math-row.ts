import { DomainError } from '../../core/errors';
import { makeExampleId } from '../../evaluation/example';
import type { Example } from '../../evaluation/example';
import { findBoxes, isSpokenOf } from '../../evaluation/graders/boxed';
import {
  areOneNumber,
  areOtherNumbers,
  boxedReference,
  findReference,
  requireReference,
} from '../../evaluation/graders/math/math-equivalence';
import { isRow } from '../../evaluation/graders/row-fields';
import type { Row } from '../../evaluation/graders/row-grader';
import { conversationIn, isSaid, listed, requireAsked, withoutKeys } from './own-row';

export const PROBLEM = ['problem', 'question'];
/** The first that a row has is its answer. */
const ANSWER = ['answer', 'final_answer', 'expected_answer', 'ground_truth'];
/** Where verl keeps it. */
const VERL_ANSWER = 'reward_model.ground_truth';
/** Where others have it, or something else; a `label` that is a number is of the row. Compared alone. */
const SAID_ELSEWHERE = [
  ...['correct_answer', 'gold_answer', 'reference_answer', 'gold', 'reference', 'target'],
  ...['answers', 'solution'],
];

type MathExample = Example & { readonly target: string };

/** Of one's own nothing is left out without a word, but for problems without an answer, as proofs are. */
export function ownMathExample(given: Row, ignored: readonly string[]): Example | null {
  const row = withSoleAnswers(withVerlAnswer(withoutKeys(given, ignored)));
  const named = PROBLEM.filter((name) => isSaid(row[name])).slice(0, 1);
  const conversation = named.length === 0 ? conversationIn(row, ignored) : null;
  const asked = named.length === 0 && isText(row['prompt']) ? ['prompt'] : named;
  requireAsked(row, {
    asked: conversation ? [conversation.field, 'tools'] : asked,
    places: PROBLEM,
  });
  requireOneAnswer(row);
  const example = conversation ? conversedExample(row, conversation) : mathExample(row, asked);
  if (example === null) return null;
  requireFound(example.target);
  return example;
}

/** DAPO's processed rows have the question there. What is neither text nor conversation is refused as not asked. */
function isText(value: unknown): boolean {
  return typeof listed(value) === 'string' && isSaid(value);
}

/** null for a problem whose solution boxes no answer. */
export function mathExample(row: Row, asked: readonly string[]): MathExample | null {
  const problem = textOf(row, asked);
  if (problem === null) {
    throw new DomainError(
      'bad-dataset',
      'A row of mathematics needs "problem" or "question", a text that is not empty, or a text under "prompt", or a conversation under "prompt" or "messages".',
    );
  }
  const target = targetOf(row);
  if (target === null) return null;
  return { id: makeExampleId('math', problem), messages: [{ role: 'user', content: problem }], target };
}

/** It says itself in which form it wants its answer. */
function conversedExample(
  row: Row,
  { field, messages, tools }: NonNullable<ReturnType<typeof conversationIn>>,
): MathExample | null {
  if (!messages.some(({ content }) => isSaid(content)))
    throw new DomainError('bad-dataset', `field "${field}": asks nothing. Give a message of the user.`);
  const target = targetOf(row);
  if (target === null) return null;
  const words = JSON.stringify(messages);
  return {
    ...{ id: makeExampleId('math', words), messages, target, isAskedAsItStands: true },
    ...(tools.length > 0 && { tools }),
  };
}

function targetOf(row: Row): string | null {
  const answer = textOf(row, ANSWER) ?? textOf(row, [VERL_ANSWER]);
  if (answer !== null) return NO_ANSWER.test(answer) ? null : answerIn(answer);
  const solution = textOf(row, ['solution']);
  if (solution !== null) return boxedReference(solution);
  throw new DomainError(
    'bad-dataset',
    'A row of mathematics needs "answer", or "solution" with the answer in \\boxed{}, a text.',
  );
}

function withVerlAnswer(row: Row): Row {
  const model = listed(row['reward_model']);
  const answer = isRow(model) ? model['ground_truth'] : undefined;
  return isSaid(answer) ? { ...row, [VERL_ANSWER]: answer } : row;
}

/** What NuminaMath has in place of an answer. */
const NO_ANSWER = /^\s*(?:proof|not\s?found)\s*$/i;
const MARK = '####';

/** What stands behind GSM8K's mark, however short the reasoning before it is. */
function answerIn(text: string): string {
  const behind = text.includes(MARK) ? text.slice(text.lastIndexOf(MARK) + MARK.length).trim() : '';
  return behind === '' ? text : behind;
}

/** Lists of one text, also as JSON, are that text: Skywork has `["34"]`. Of several nobody knows which is meant. */
function withSoleAnswers(row: Row): Row {
  const lists = [...ANSWER, VERL_ANSWER]
    .map((name): [string, unknown] => [name, soleOf(row[name])])
    .filter(([name, value]) => value !== row[name]);
  return lists.length === 0 ? row : { ...row, ...Object.fromEntries(lists) };
}

function soleOf(given: unknown): unknown {
  const value = listed(given);
  if (!Array.isArray(value) || value.length === 0 || value.some((item) => typeof item !== 'string'))
    return given;
  return value.length === 1 ? value[0] : value;
}

/** One that is no text or empty would let the solution be taken in its place, and of two that differ one is wrong. */
function requireOneAnswer(row: Row): void {
  const names = [...ANSWER, VERL_ANSWER];
  const given = names.filter((name) => row[name] !== undefined && row[name] !== null);
  const other = given.find((name) => !['string', 'number'].includes(typeof row[name]));
  if (other !== undefined)
    throw new DomainError('bad-dataset', `field "${other}": has to be one answer, a text.`);
  const [first] = given;
  if (first === undefined) return;
  if (!isSaid(row[first])) {
    throw new DomainError(
      'bad-dataset',
      `A row of mathematics has an empty "${first}". Give the answer, or remove the row.`,
    );
  }
  const second =
    given.find((name) => isSaid(row[name]) && !isSameAnswer(row[first], row[name])) ??
    otherAnswers(row).find(([, other]) => isOtherAnswer(row[first], other))?.[0];
  if (second === undefined) return;
  throw new DomainError(
    'bad-dataset',
    `fields "${first}" and "${second}" give two answers that differ. Remove one, or name it in environment.ignoreKeys.`,
  );
}

function isSameAnswer(one: unknown, other: unknown): boolean {
  const [left, right] = [answerIn(String(one).trim()), answerIn(String(other).trim())];
  if (left === right) return true;
  const found = findReference(left);
  return (found !== null && found === findReference(right)) || areOneNumber(left, right);
}

function otherAnswers(row: Row): readonly (readonly [field: string, value: unknown])[] {
  const extra = listed(row['extra_info']);
  const inExtra = isRow(extra) ? [['extra_info.answer', extra['answer']] as const] : [];
  const label = typeof row['label'] === 'string' ? [['label', row['label']] as const] : [];
  return [...SAID_ELSEWHERE.map((name) => [name, soleOf(row[name])] as const), ...label, ...inExtra];
}

/** Both are numbers, and no reading makes them equal. Of what may as well be a working, only what is plainly its result counts. */
function isOtherAnswer(answer: unknown, other: unknown): boolean {
  if (typeof other !== 'string' && typeof other !== 'number') return false;
  const result = resultIn(String(other));
  return result !== null && areOtherNumbers(result, answerIn(String(answer)));
}

/** What stands behind GSM8K's mark, in the only box, or is a number as a whole. */
function resultIn(text: string): string | null {
  const marked = answerIn(text);
  if (marked !== text) return marked;
  const boxes = findBoxes(text).filter((box) => !isSpokenOf(text, box));
  if (boxes.length > 0) return boxes.length === 1 ? boxedReference(text) : null;
  return BARE_NUMBER.test(text) ? text : null;
}

const BARE_NUMBER = /^\s*(?:\$\s*)?[-+−]?[\d.,/]*\d[\s$%.]*$/;

/** Marks behind which an answer stands, and nothing behind them. */
const BARE_MARK = /(?:####|\banswer\s+is|\banswer(?:\s+is)?\s*[:=])[\s*.:]*$/i;
const NO_WORD = /^[\s.,;:!?#*_…–—-]*$/;

function requireFound(target: string): void {
  const found = requireReference(target);
  if (!BARE_MARK.test(target) && !NO_WORD.test(found)) return;
  throw new DomainError(
    'bad-dataset',
    `no answer found in the reference ${JSON.stringify(target.slice(-80))}. Give it as \\boxed{…}, in $…$ or bare.`,
  );
}

function textOf(row: Row, names: readonly string[]): string | null {
  const values = names.map((name) => row[name]);
  const found = values.find((value) => typeof value === 'string' || typeof value === 'number');
  if (typeof found === 'number' && Number.isInteger(found) && !Number.isSafeInteger(found)) {
    throw new DomainError(
      'bad-dataset',
      `${names.map((name) => `"${name}"`).join(' or ')} is a number of more digits than numbers keep here. Write it as a text.`,
    );
  }
  return found === undefined ? null : String(found);
}
