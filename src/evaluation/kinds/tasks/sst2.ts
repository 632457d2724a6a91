import { textField } from '../../graders/row-fields';
import { generation } from '../generation';

/** Whether a sentence about a film is positive or negative; the model answers with the word. */
export const sst2 = generation({
  name: 'sst2',
  description: 'Sentiment of sentences about films; 872 examples of the validation split, one word',
  data: {
    hub: 'stanfordnlp/sst2',
    revision: '8d51e7e4887a4caaa95b3fbebbf53c0490b58bbb',
    split: 'validation',
  },
  maxNewTokens: 15,
  get(row) {
    return {
      prompt: [
        {
          role: 'user',
          content: `Is this sentence positive or negative? Answer with that word alone.\n\n${textField(row, ['sentence']).trim()}`,
        },
      ],
      gold: textField(row, ['label']) === '1' ? 'positive' : 'negative',
    };
  },
  clean: (text) => /^[^]*[a-z]/.exec(text.trim().toLowerCase())?.[0] ?? '',
});
