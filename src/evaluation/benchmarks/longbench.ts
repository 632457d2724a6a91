import { makeExampleId } from '../example';
import { longbench as longbenchRows } from '../graders/longbench/longbench';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { letteredOptions } from './questions/lettered-options';
import { clusterOf, fieldsOf, groupField } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

const CHOICES = ['choice_A', 'choice_B', 'choice_C', 'choice_D'];

/** About 120,000 tokens of English text, which is where the official script cuts for models of 128,000. */
const CONTEXT_CHARACTERS = 480_000;

/** LongBench v2 (Bai et al., 2024): questions about long texts, without examples. */
export const longbench: Benchmark = longbenchWith({ contextCharacters: CONTEXT_CHARACTERS });

/**
 * LongBench v2 for models of another context: a text longer than `contextCharacters` loses its middle, as officially,
 * but counted in characters, so that every model is asked the same. A prompt that still does not fit counts as cut off.
 */
export function longbenchWith({ contextCharacters }: { readonly contextCharacters: number }): Benchmark {
  return {
    name: 'longbench',
    version: 1,
    description: 'LongBench v2: questions about long texts; 503 examples, four options, no shots',
    comparableWith:
      'Official zero-shot scores of models with 128k context. Longer texts lose their middle by characters (480,000), officially by the tokens of each model.',
    data: {
      hub: 'THUDM/LongBench-v2',
      revision: '2b48e494f2c7a2f0af81aae178e05c7e1dde0fe9',
      split: 'train',
      files: ['data.json'],
    },
    orderSeed: 42,
    toExample(row) {
      const question = textField(row, ['question']).trim();
      const options = CHOICES.map((name) => textField(row, [name]).trim());
      const text = withoutMiddle(textField(row, ['context']).trim(), contextCharacters);
      return {
        id: makeExampleId('longbench', question),
        messages: [
          {
            role: 'user',
            content: `Read this text and answer the question about it.\n\n<text>\n${text}\n</text>\n\nQuestion: ${question}\n\n${letteredOptions(options)}\n\nEnd with your choice in this form: "The correct answer is (X)".`,
          },
        ],
        target: textField(row, ['answer']).trim(),
        row: fieldsOf(row, [...CHOICES, 'answer', 'domain', 'difficulty', 'length']),
        ...clusterOf(row, 'sub_domain'),
      };
    },
    generation: GENERATION,
    grader: rowsByGroup('longbench', longbenchRows, (row) => [
      groupField(row, ['domain']),
      groupField(row, ['difficulty']),
      groupField(row, ['length']),
    ]),
  };
}

function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return text.slice(0, half) + text.slice(-half);
}
