import { superGpqa as superGpqaRows } from '../graders/choices/choice-graders';
import { makeExampleId } from '../example';
import { textField, textListField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { letteredOptions, optionLetter } from './questions/lettered-options';
import { clusterOf, fieldsOf, groupField } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

/** Graduate questions of 285 fields with up to ten options (M-A-P, 2025), without examples. */
export const supergpqa: Benchmark = {
  name: 'supergpqa',
  version: 1,
  description: 'Graduate questions of 285 fields; 26,529 examples, up to ten options, no shots',
  comparableWith:
    'The zero-shot scores of its paper, whose prompt also asks for reasoning and then the letter.',
  data: {
    hub: 'm-a-p/SuperGPQA',
    revision: '4430d4458112c7d4497fdcf94d7cc223313d6acf',
    split: 'train',
    files: ['SuperGPQA-all.jsonl'],
  },
  orderSeed: 42,
  toExample(row) {
    const question = textField(row, ['question']);
    const options = textListField(row, ['options']);
    const letters = options.map((_, index) => optionLetter(index)).join(', ');
    return {
      id: groupField(row, ['uuid']) ?? makeExampleId('supergpqa', question),
      messages: [
        {
          role: 'user',
          content: `${question}\n\n${letteredOptions(options)}\n\nThink step by step, then give your final answer as a single letter (${letters}).`,
        },
      ],
      target: textField(row, ['answer_letter']).trim(),
      row: fieldsOf(row, ['answer_letter', 'options', 'discipline', 'difficulty']),
      ...clusterOf(row, 'field'),
    };
  },
  generation: GENERATION,
  grader: rowsByGroup('supergpqa', superGpqaRows, (row) => [
    groupField(row, ['discipline']),
    groupField(row, ['difficulty']),
  ]),
};
