import { firstOf, isRow, lacking, textField, textListField } from '../../graders/row-fields';
import type { Row } from '../../graders/row-grader';
import { generation } from '../generation';

/** A question about a passage; right when the first reference answer stands in what the model says. */
export const squad = generation({
  name: 'squad',
  description:
    'Questions about passages; 10,570 examples of the validation split, the first answer is in the reply',
  data: {
    hub: 'rajpurkar/squad',
    revision: '7b6d24c440a36b6815f21b70d25016731768db1f',
    split: 'validation',
  },
  maxNewTokens: 50,
  get(row) {
    const [context, question] = [textField(row, ['context']), textField(row, ['question'])];
    return {
      prompt: [
        {
          role: 'user',
          content: `${context}\n\n${question.trim()}\n\nAnswer with the words of the passage alone.`,
        },
      ],
      gold: firstAnswer(row).toLowerCase(),
    };
  },
  clean: (text) => text.trim().toLowerCase(),
  check: (gold, answer) => answer.includes(gold),
});

function firstAnswer(row: Row): string {
  const answers = firstOf(row, ['answers']);
  const [first] = isRow(answers) ? textListField(answers, ['text']) : [];
  if (first === undefined) throw lacking(['answers'], 'list of texts');
  return first;
}
