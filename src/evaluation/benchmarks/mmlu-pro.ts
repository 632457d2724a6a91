import { mmluPro as mmluProRows } from '../graders/choices/choice-graders';
import { textField, textListField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { letteredOptions, optionLetter } from './questions/lettered-options';
import { fieldsOf, groupField } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

/** Questions of 14 categories with up to ten options (Wang et al., 2024), without examples. */
export const mmluPro: Benchmark = {
  name: 'mmlu_pro',
  version: 1,
  description:
    'Questions of 14 categories with up to ten options; 12,032 examples, no shots, the official extraction of the letter',
  comparableWith:
    'tinker-cookbook (no shots, the letter alone is asked for). The leaderboard asks with five worked examples a category and guesses where no letter is found; here that is wrong.',
  data: {
    hub: 'TIGER-Lab/MMLU-Pro',
    revision: 'b189ec765aa7ed75c8acfea42df31fdae71f97be',
    split: 'test',
  },
  orderSeed: 42,
  toExample(row) {
    const options = textListField(row, ['options']);
    const letters = `A to ${optionLetter(options.length - 1)}`;
    const question = textField(row, ['question']);
    return {
      id: `mmlu_pro_${textField(row, ['question_id'])}`,
      messages: [
        {
          role: 'user',
          content: `${question}\n\n${letteredOptions(options)}\n\nAnswer with just the letter of the right option (${letters}).`,
        },
      ],
      target: goldLetter(row['answer'], row['answer_index']),
      row: fieldsOf(row, ['answer', 'answer_index', 'category']),
    };
  },
  generation: GENERATION,
  grader: rowsByGroup('mmlu_pro', mmluProRows, (row) => [groupField(row, ['category'])]),
};

function goldLetter(letter: unknown, index: unknown): string {
  return typeof letter === 'string' ? letter : optionLetter(Number(index));
}
