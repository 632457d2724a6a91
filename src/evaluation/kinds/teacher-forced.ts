import type { Row } from '../graders/row-grader';
import type { Kind, KindDeclaration } from './kind';
import { promptRoom, reduceScores } from './kind';

export interface TeacherForcedTask extends KindDeclaration {
  /** A whole text; the model sees all before each token and says which it expects. */
  get(row: Row, index: number): string | null;
  clean?(predicted: string): string;
  /** Whether what the model expected, token for token, is right. `input` is the text from its second token on. */
  check(input: string, predicted: string): boolean;
  /** Default `accuracy`. */
  readonly metric?: string;
}

/**
 * What the model expects at each place of a text it is shown, without letting it write. Texts that are too long lose
 * their end; one of fewer than two tokens counts 0.
 */
export function teacherForced(task: TeacherForcedTask): Kind {
  const { name, version = 1, description = name, data, metric = 'accuracy' } = task;
  return {
    kind: 'teacherForced',
    name,
    version,
    description,
    data,
    metric,
    higherIsBetter: true,
    prepare(row, index, { tokenizer, contextLength }) {
      const text = task.get(row, index);
      if (text === null) return null;
      const tokens = tokenizer.encode(text).slice(0, promptRoom(contextLength));
      const input = tokenizer.decode(tokens.slice(1));
      return {
        sampleCount: 1,
        probes: tokens.length < 2 ? [] : [{ tokens, start: 1, ask: 'likeliest' }],
        judge: (sequences) =>
          sequences.map((sequence) => {
            const predicted = tokenizer.decode(sequence.likeliest ?? []);
            const isRight = task.check(input, task.clean ? task.clean(predicted) : predicted);
            return { value: Number(isRight), sequence };
          }),
      };
    },
    reduce: reduceScores,
  };
}
