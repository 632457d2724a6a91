import { DEEPEST_ROW, isDeeperThan } from '../../core/json-depth';
import { parseJsonWithSource } from '../../core/json-source';
import { flawOf } from '../json-flaw';
import type { ParquetBudget } from './parquet-budget';

/** Stands for bytes that cannot be taken as they are: U+FFFD in their place would be trained. */
export class Unreadable {
  constructor(readonly problem: string) {}
}

interface JsonSize {
  readonly characters: number;
  /** Lists, objects and what they hold. */
  readonly values: number;
}

/**
 * The texts of a file, and what rows come to that are made of them: what a page has once can stand in every row, and as JSON it is
 * written and walked through in each.
 */
export class ParquetTexts {
  /** Values that come of a text of JSON: one that is in a dictionary is walked through once. */
  private readonly sizes = new WeakMap<object, JsonSize>();

  /** What a text of JSON says. */
  parse(text: string): unknown {
    const value = parsed(text);
    if (typeof value === 'object' && value !== null)
      this.sizes.set(value, { characters: text.length, values: valueCount(value) });
    return value;
  }

  /** Names of fields count too. */
  take(value: unknown, budget: ParquetBudget): void {
    if (typeof value === 'string') budget.take('characters', value.length);
    if (typeof value !== 'object' || value === null) return;
    const size = this.sizes.get(value);
    if (!size) {
      this.takeParts(value, budget);
      return;
    }
    budget.take('characters', size.characters);
    budget.take('values', size.values);
  }

  /** The field of a row that holds what cannot be read, at any depth, and why; null where none does. */
  problemIn(row: object): string | null {
    for (const [field, value] of Object.entries(row)) {
      const found = this.unreadableIn(value);
      if (found) return `field "${field}": ${found.problem}`;
    }
    return null;
  }

  private takeParts(value: object, budget: ParquetBudget): void {
    if (value instanceof Uint8Array) budget.take('characters', value.length);
    else if (Array.isArray(value)) for (const item of value) this.take(item, budget);
    else
      for (const [name, item] of Object.entries(value)) {
        budget.take('characters', name.length);
        this.take(item, budget);
      }
  }

  private unreadableIn(value: unknown): Unreadable | null {
    if (value instanceof Unreadable) return value;
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null;
    if (this.sizes.has(value)) return null;
    const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const item of items) {
      const found = this.unreadableIn(item);
      if (found) return found;
    }
    return null;
  }
}

/** As rows of JSON are read, flaws are told of the row that has them. */
function parsed(text: string): unknown {
  try {
    const value = parseJsonWithSource(text);
    const flaw = flawOf(text, value);
    if (flaw !== null) return new Unreadable(flaw);
    return isDeeperThan(value, DEEPEST_ROW) ? TOO_DEEP : value;
  } catch (error) {
    // Anything else says nothing of the text.
    if (!(error instanceof SyntaxError)) throw error;
    return new Unreadable(`not valid JSON (${error.message}).`);
  }
}

const TOO_DEEP = new Unreadable(
  `lists and objects lie more than ${DEEPEST_ROW} deep in one another. Flatten them, or leave out what is not read.`,
);

function valueCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = 1;
  for (const item of items) count += valueCount(item);
  return count;
}
