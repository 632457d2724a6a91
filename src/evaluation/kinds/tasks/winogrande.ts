import { textField } from '../../graders/row-fields';
import { generation } from '../generation';

/** Which of two words fills the gap; the model answers with a letter. */
export const winogrande = generation({
  name: 'winogrande',
  description: 'Which of two words fills the gap; 1,267 examples of the validation split, letter A or B',
  data: {
    hub: 'allenai/winogrande',
    revision: '01e74176c63542e6b0bcb004dcdea22d94fb67b5',
    split: 'validation',
    configs: ['winogrande_xl'],
  },
  maxNewTokens: 10,
  get(row) {
    const sentence = textField(row, ['sentence']);
    const options = `A: ${textField(row, ['option1'])}\nB: ${textField(row, ['option2'])}`;
    return {
      prompt: [
        {
          role: 'user',
          content: `Which word belongs in place of "_"?\n\n${sentence}\n\n${options}\n\nAnswer with A or B alone.`,
        },
      ],
      gold: textField(row, ['answer']) === '1' ? 'A' : 'B',
    };
  },
  clean: (text) => text.trim().toUpperCase(),
  check: (gold, answer) => /^[A-Z]+/.exec(answer)?.[0] === gold,
});
