import { makeExampleId } from '../example';
import { fromRows } from '../graders/from-rows';
import { gsm8k as gsm8kRows } from '../graders/numbers/gsm8k';
import { gsm8kReference } from '../graders/numbers/gsm8k-answer';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { BOXED_SYSTEM_PROMPT } from './questions/boxed-system-prompt';
import { fieldsOf } from './questions/row-parts';

/** Grade-school word problems (Cobbe et al., 2021), without examples. The number of the reply is the answer. */
export const gsm8k: Benchmark = {
  name: 'gsm8k',
  version: 1,
  description:
    'Grade-school word problems; 1,319 examples of the test split, no shots, the number of the reply',
  comparableWith:
    'tinker-cookbook and other zero-shot scores of chat models. Not 5- or 8-shot scores of base models; they are lower without shots.',
  data: {
    hub: 'openai/gsm8k',
    revision: '740312add88f781978c0658806c59bc2815b9866',
    split: 'test',
    configs: ['main'],
  },
  orderSeed: 42,
  toExample(row) {
    const question = textField(row, ['question']);
    return {
      id: makeExampleId('gsm8k', question),
      messages: [{ role: 'user', content: question }],
      target: gsm8kReference(textField(row, ['answer'])),
      row: fieldsOf(row, ['answer']),
    };
  },
  systemPrompt: BOXED_SYSTEM_PROMPT,
  generation: GENERATION,
  grader: fromRows(gsm8kRows),
};
