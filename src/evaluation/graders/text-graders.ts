import { DomainError } from '../../core/errors';
import { ReadingTime } from '../../sandboxes/read-within';
import { firstOf, lacking, requireShallow, textField, textListField } from './row-fields';
import { equalJson, parseExactJson } from './exact-json';
import { findJson } from './json-text';
import { numericAnswer } from './numeric-answer';
import { isPlain, requireShort, tryPattern } from './patterns/try-pattern';
import type { Row, RowGrader } from './row-grader';
import type { Score } from './grader';

const TARGET = ['target', 'answer', 'expected'];
const TARGETS = ['targets', 'answers', ...TARGET];

/** Equal to one of the targets, apart from white space around. Case counts, unless the row has `ignore_case: true`. */
export const exactMatchRows: RowGrader = {
  name: 'exact_match',
  version: 'exact_match@1',
  description: 'target (or a list); equal apart from white space around; ignore_case',
  grade(completion, row) {
    const answer = completion.trim();
    const targets = textListField(row, TARGETS).map((target) => folded(target.trim(), row));
    return rightIf(answer !== '' && targets.includes(folded(answer, row)), answer || null);
  },
};

/** One of the targets stands in the completion; with `all: true` each of them. */
export const containsRows: RowGrader = {
  name: 'contains',
  version: 'contains@1',
  description:
    'target (or a list); one of them, or with all: true each, stands in the completion; ignore_case',
  grade(completion, row) {
    const text = folded(completion, row);
    const targets = textListField(row, TARGETS).filter((target) => target !== '');
    const found = targets.filter((target) => text.includes(folded(target, row)));
    const isRight = row['all'] === true ? found.length === targets.length : found.length > 0;
    return rightIf(isRight && targets.length > 0, found[0] ?? null);
  },
};

const PATTERN = ['pattern', 'regex'];
/** How much text a pattern of the user's is tried on. */
const PATTERN_TEXT_LIMIT = 20_000;

/** `pattern` (JavaScript, flags iu s m allowed) occurs; with `target`, its first group must equal the target. */
export const regexRows: RowGrader = {
  name: 'regex',
  version: 'regex@1',
  description: `pattern, flags; target = first group; on the last ${PATTERN_TEXT_LIMIT} characters; on reasoning where the pattern says think`,
  readsReasoning: (row) => /think/i.test(textField(row, PATTERN)),
  async grade(completion, row) {
    const { source, flags } = patternOf(row);
    const text = completion.slice(-PATTERN_TEXT_LIMIT);
    const { first } = await tryPattern(
      { source, flags, text, isCounted: false },
      { isPlain: isPlain(source), time: new ReadingTime() },
    );
    const answer = first?.[1] ?? first?.[0];
    if (answer === undefined) return { value: 0, answer: null };
    if (firstOf(row, ['target']) === undefined) return rightIf(true, answer);
    return rightIf(answer.trim() === textField(row, ['target']).trim(), answer);
  },
};

/** The completion's JSON (whole, fenced, or the first that parses) equals the target; order of keys does not matter. */
export const jsonMatchRows: RowGrader = {
  name: 'json_match',
  version: 'json_match@7',
  description: 'target (JSON or its text); equal apart from white space and order of keys',
  parseLine: parseExactJson,
  grade(completion, row) {
    const target = firstOf(row, TARGET);
    if (target === undefined) throw lacking(TARGET, 'JSON');
    const wanted = asJson(target);
    requireShallow(wanted, TARGET);
    const found = findJson(completion, wanted);
    if (found === null) return { value: 0, answer: null, explanation: 'no JSON' };
    return rightIf(equalJson(found.value, wanted, typeof target === 'string'), found.text);
  },
};

const sums = numericAnswer();

/** The last number equals the target, as in the built-in benchmark of sums. */
export const arithmeticRows: RowGrader = {
  name: 'arithmetic',
  version: sums.version,
  description: 'target or answer; the last number of the completion',
  grade: (completion, row) =>
    sums.grade(completion, { id: '', messages: [], target: textField(row, TARGET) }),
};

function rightIf(isRight: boolean, answer: string | null): Score {
  return { value: Number(isRight), answer };
}

function folded(text: string, row: Row): string {
  return row['ignore_case'] === true ? text.toLowerCase() : text;
}

function patternOf(row: Row): RegExp {
  const pattern = textField(row, PATTERN);
  requireShort(pattern);
  const flags = firstOf(row, ['flags']) === undefined ? 'u' : textField(row, ['flags']);
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split(': ').at(-1) ?? '') : '';
    const problem = /^Invalid flags/.test(cause instanceof Error ? cause.message : '')
      ? `"flags" is "${flags.slice(0, 20)}". Give some of i, s, m and u, each once.`
      : `"pattern" is no regular expression of JavaScript (${reason}): ${pattern.slice(0, 200)}. Correct it; \\ before a sign takes it as it stands.`;
    throw new DomainError('bad-dataset', `example: ${problem}`, { cause });
  }
}

/** A target given as text is JSON text where it parses, else a string. */
function asJson(target: unknown): unknown {
  if (typeof target !== 'string') return target;
  try {
    return parseExactJson(target);
  } catch {
    return target;
  }
}
