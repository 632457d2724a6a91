import { fromRows } from '../graders/from-rows';
import { ifeval as ifevalRows } from '../graders/ifeval/ifeval';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { fieldsOf } from './questions/row-parts';

/** Instructions whose following a program can check (Zhou et al., 2023): 25 kinds, checked as the official script does. */
export const ifeval: Benchmark = {
  name: 'ifeval',
  version: 1,
  description:
    'Instructions that a program can check; 541 examples, right when all of an example are followed strictly',
  comparableWith:
    'The official prompt-level strict accuracy; prompt-level loose and both instruction-level accuracies are among the metrics.',
  data: {
    hub: 'google/IFEval',
    revision: '966cd89545d6b6acfd7638bc708b98261ca58e84',
    split: 'train',
    files: ['ifeval_input_data.jsonl'],
  },
  orderSeed: 42,
  toExample(row) {
    return {
      id: `ifeval_${textField(row, ['key'])}`,
      messages: [{ role: 'user', content: textField(row, ['prompt']) }],
      target: null,
      row: fieldsOf(row, ['prompt', 'instruction_id_list', 'kwargs']),
    };
  },
  generation: GENERATION,
  grader: fromRows(ifevalRows),
};
