import { DomainError } from '../../../core/errors';
import { firstOf, textField, textListField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import type { Score } from '../grader';
import { choiceLetter, loneLetter } from './choice-letter';
import { mmluProLetter } from './mmlu-pro-letter';

/** `answer` A–J, the official extraction. */
export const mmluPro: RowGrader = {
  name: 'mmlu_pro',
  version: 'mmlu_pro@2',
  description: 'answer (letter) or answer_index; the official three stages, no letter is wrong',
  grade(completion, row) {
    return scoreLetter(mmluProLetter(completion), goldLetter(row, ['answer', 'answer_index']));
  },
};

/** `answer` is the index of the right one of four `choices`. */
export const mmluRedux = choiceGrader({
  name: 'mmlu_redux',
  read: loneLetter,
  gold: ['answer'],
  optionCount: () => 4,
  description: 'answer (index or letter) among four choices',
});

export const superGpqa = choiceGrader({
  name: 'supergpqa',
  gold: ['answer_letter'],
  optionCount: (row) => textListField(row, ['options']).length,
  description: 'answer_letter among options',
});

export const ceval = choiceGrader({
  name: 'ceval',
  gold: ['answer'],
  optionCount: () => 4,
  description: 'answer (letter) among A, B, C, D; also announced in Chinese',
});

/** The dataset has no letters: whoever shuffled the options gives the letter in `answer`, or the order in `options`. */
export const gpqa: RowGrader = {
  name: 'gpqa',
  version: 'gpqa@7',
  description: 'answer (letter as asked), or options in the order asked beside Correct Answer',
  grade(completion, row) {
    return scoreLetter(choiceLetter(completion, 4), gpqaLetter(row));
  },
};

interface ChoiceGraderOptions {
  readonly name: string;
  readonly gold: readonly string[];
  readonly description: string;
  readonly optionCount: (row: Row) => number;
  readonly read?: typeof choiceLetter;
}

function choiceGrader({
  name,
  gold,
  optionCount,
  description,
  read = choiceLetter,
}: ChoiceGraderOptions): RowGrader {
  return {
    name,
    version: `${name}@7`,
    description,
    grade: (completion, row) => scoreLetter(read(completion, optionCount(row)), goldLetter(row, gold)),
  };
}

function scoreLetter(answer: string | null, target: string): Score {
  return { value: Number(answer === target), answer, explanation: `expected ${target}`, details: { target } };
}

/** A letter, or the index of one. */
function goldLetter(row: Row, names: readonly string[]): string {
  const gold = textField(row, names).trim();
  const letter = /^\d{1,2}$/.test(gold) ? String.fromCharCode(65 + Number(gold)) : gold.replace(/[().]/g, '');
  if (/^[A-Z]$/.test(letter)) return letter;
  throw new DomainError(
    'bad-dataset',
    `example: "${names.join('" or "')}" is "${gold.slice(0, 40)}", not a letter or the index of one.`,
  );
}

function gpqaLetter(row: Row): string {
  if (firstOf(row, ['answer', 'answer_letter', 'target']) !== undefined) {
    return goldLetter(row, ['answer', 'answer_letter', 'target']);
  }
  if (firstOf(row, ['options', 'choices']) === undefined) {
    throw new DomainError(
      'bad-dataset',
      'example: GPQA rows do not say in which order the options were asked. Add "answer" with the right letter, or "options" in that order.',
    );
  }
  const right = textField(row, ['Correct Answer']).trim();
  const index = textListField(row, ['options', 'choices']).findIndex((option) => option.trim() === right);
  if (index >= 0) return String.fromCharCode(65 + index);
  throw new DomainError('bad-dataset', 'example: "Correct Answer" is none of the "options".');
}
