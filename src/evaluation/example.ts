import { createHash } from 'node:crypto';
import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';
import { placeOfRow, withPlace } from '../datasets/row-place';

/** One question of a benchmark or dataset. */
export interface Example {
  readonly id: string;
  /** The conversation up to the completion that is asked for. */
  readonly messages: readonly Message[];
  /** What the model may call; a completion is then judged with its calls. */
  readonly tools?: readonly ToolDeclaration[];
  /** The reference answer, where there is one. */
  readonly target: string | null;
  /** The publisher's row, for graders that need more of it. Plain JSON. */
  readonly row?: Readonly<Record<string, unknown>>;
  /** Its messages say themselves in which form they want their answer: a benchmark's own instructions are not for it. */
  readonly isAskedAsItStands?: boolean;
  /**
   * What it hangs on together with other examples, e.g. the text that several questions are about: comparisons count such
   * examples as one cluster.
   */
  readonly cluster?: string;
}

/** The field's id of an example: prefix and the first 12 hex digits of the text's MD5. */
export function makeExampleId(prefix: string, text: string): string {
  return `${prefix}_${createHash('md5').update(text, 'utf8').digest('hex').slice(0, 12)}`;
}

/** Examples that occur twice keep their id with a number behind it, so that each is counted. */
export class UniqueIds {
  private readonly seen = new Map<string, number>();

  give(example: Example): Example {
    const count = (this.seen.get(example.id) ?? 0) + 1;
    this.seen.set(example.id, count);
    if (count === 1) return example;
    const place = placeOfRow(example);
    const again = { ...example, id: `${example.id}#${count}` };
    return place ? withPlace(again, place) : again;
  }
}

export function withUniqueIds(examples: readonly Example[]): Example[] {
  const ids = new UniqueIds();
  return examples.map((example) => ids.give(example));
}
