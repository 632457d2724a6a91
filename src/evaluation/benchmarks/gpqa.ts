import { shuffledIndices } from '../../core/random';
import { seedOf } from '../digest';
import { makeExampleId } from '../example';
import { gpqa as gpqaRows } from '../graders/choices/choice-graders';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { letteredOptions, optionLetter } from './questions/lettered-options';
import { groupField } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

const OPTIONS = ['Correct Answer', 'Incorrect Answer 1', 'Incorrect Answer 2', 'Incorrect Answer 3'];

/**
 * GPQA Diamond (Rein et al., 2023), without examples.
 *
 * The rows name the right answer first, so the options are put in an order of each question's own: a shuffle seeded by
 * its text, the same in every run and whatever the questions around it.
 */
export const gpqa: Benchmark = {
  name: 'gpqa',
  version: 1,
  description:
    'GPQA Diamond: science questions for experts; 198 examples, four options in a seeded order, no shots',
  comparableWith:
    'Zero-shot scores on Diamond with reasoning. Orders of options differ between tools; average over several samples to compare.',
  data: {
    hub: 'Idavidrein/gpqa',
    revision: '633f5ee89ab8ad4522a9f850766b73f62147ffdd',
    split: 'train',
    files: ['gpqa_diamond.csv'],
  },
  orderSeed: 42,
  toExample(row) {
    const question = textField(row, ['Question']).trim();
    const order = [...shuffledIndices(OPTIONS.length, seedOf(question))];
    const options = order.map((index) => textField(row, OPTIONS.slice(index, index + 1)).trim());
    const target = optionLetter(order.indexOf(0));
    return {
      id: makeExampleId('gpqa', question),
      messages: [
        {
          role: 'user',
          content: `${question}\n\n${letteredOptions(options)}\n\nThink step by step, then give your final answer as a single letter (A, B, C or D).`,
        },
      ],
      target,
      row: { answer: target, domain: groupField(row, ['High-level domain']) },
    };
  },
  generation: GENERATION,
  grader: rowsByGroup('gpqa', gpqaRows, (row) => [groupField(row, ['domain'])]),
};
