import { makeExampleId } from '../example';
import { mmluRedux as mmluReduxRows } from '../graders/choices/choice-graders';
import { textField, textListField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { MMLU_SUBJECTS } from './questions/mmlu-subjects';
import { letteredOptions, optionLetter } from './questions/lettered-options';
import { fieldsOf, groupField } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

/**
 * MMLU questions checked by hand (Gema et al., 2024), version 2.0 with all 57 subjects.
 *
 * Only rows that the annotators found free of error (`error_type` ok); corrected answers are not used, as in the paper's
 * tables and in OpenCompass.
 */
export const mmluRedux: Benchmark = {
  name: 'mmlu_redux',
  version: 1,
  description: 'MMLU questions without known errors; 57 subjects of at most 100, four options, no shots',
  comparableWith:
    'Zero-shot scores on MMLU-Redux 2.0, rows labelled ok. tinker-cookbook has the 30 subjects of version 1.0.',
  data: {
    hub: 'edinburgh-dawg/mmlu-redux-2.0',
    // The publisher's own files are in Arrow; the hub keeps a Parquet copy of them on this branch.
    revision: 'refs/convert/parquet',
    split: 'test',
    configs: MMLU_SUBJECTS,
    configField: '_subject',
  },
  orderSeed: 42,
  toExample(row) {
    if (groupField(row, ['error_type'])?.trim().toLowerCase() !== 'ok') return null;
    const question = textField(row, ['question']);
    const options = textListField(row, ['choices']);
    return {
      id: makeExampleId('mmlu_redux', question),
      messages: [
        {
          role: 'user',
          content: `${question}\n\n${letteredOptions(options)}\n\nAnswer with just the letter (A, B, C or D).`,
        },
      ],
      target: optionLetter(Number(textField(row, ['answer']))),
      row: fieldsOf(row, ['answer', '_subject', 'subject']),
    };
  },
  generation: GENERATION,
  grader: rowsByGroup('mmlu_redux', mmluReduxRows, (row) => [groupField(row, ['_subject', 'subject'])]),
};
