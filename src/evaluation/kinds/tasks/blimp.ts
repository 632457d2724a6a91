import { textField } from '../../graders/row-fields';
import { choiceByPerplexity } from '../choice-by-perplexity';
import { BLIMP_PARADIGMS } from './blimp-paradigms';

/** Pairs of sentences that differ in grammar alone; right when the good one is likelier a token. */
export const blimp = choiceByPerplexity({
  name: 'blimp',
  description: '67 paradigms of 1,000 pairs of a good and a bad sentence; the good one is likelier a token',
  data: {
    hub: 'nyu-mll/blimp',
    revision: '877fba0801ffb7cbd8c39c1ff314a46f053f6036',
    split: 'train',
    configs: BLIMP_PARADIGMS,
    configField: 'paradigm',
  },
  get: (row) => ({
    prefix: '',
    continuations: [textField(row, ['sentence_good']), textField(row, ['sentence_bad'])],
    correct: 0,
  }),
});
