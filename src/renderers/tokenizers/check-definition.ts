import { z } from 'zod';
import { isRecord } from '../reply-blocks';
import { checkSteps } from './check-steps';
import { checkVocabulary, MOST_IDS, Word } from './check-vocabulary';
import { Writing } from './step-kinds';

/** No word of a `WordPiece` model is longer where it is not said; the library takes time by its cube. */
const LONGEST_WORD = 500;

/** What is read of a `tokenizer.json` beside its steps, its vocabulary and its merges. */
const Definition = z.object({
  added_tokens: z.array(
    z.object({
      id: z
        .int()
        .min(0)
        .max(MOST_IDS - 1),
      content: Word,
      special: z.boolean(),
    }),
  ),
  model: z.object({
    type: z.enum(['BPE', 'Unigram', 'WordPiece', 'WordLevel']).nullish(),
    unk_token: Word.nullish(),
    unk_id: z.int().min(0).nullish(),
    end_of_word_suffix: Writing.nullish(),
    continuing_subword_prefix: Writing.nullish(),
    continuing_subword_suffix: Writing.nullish(),
    max_input_chars_per_word: z.int().min(1).max(LONGEST_WORD).nullish(),
  }),
});

/** Throws an error that names the field where a `tokenizer.json` says what its model cannot mean, or what would have no end. */
export function checkDefinition(definition: Readonly<Record<string, unknown>>): void {
  const [issue] = Definition.safeParse(definition).error?.issues ?? [];
  if (issue) throw new Error(`field "${issue.path.join('.')}" of its tokenizer.json: ${issue.message}`);
  checkSteps(definition);
  if (isRecord(definition['model'])) checkVocabulary(definition['model']);
}
