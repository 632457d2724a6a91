import { DomainError } from '../../../core/errors';
import { textField, textListField } from '../row-fields';
import type { Row } from '../row-grader';

/** The arguments of one instruction, as in the row's `kwargs`, read by the check that needs them. */
export class InstructionArguments {
  constructor(
    readonly instruction: string,
    private readonly values: Row,
  ) {}

  text(name: string): string {
    return this.read(() => textField(this.values, [name]));
  }

  texts(name: string): readonly string[] {
    return this.read(() => textListField(this.values, [name]));
  }

  count(name: string): number {
    const value = this.values[name];
    if (typeof value === 'number') return value;
    throw this.problem(`"${name}" is not a number`);
  }

  /** Whether a count meets `limit` as the relation says: "less than" or "at least". */
  meets(count: number, limitName: string, relationName = 'relation'): boolean {
    const limit = this.count(limitName);
    const relation = this.text(relationName);
    if (relation === 'less than') return count < limit;
    if (relation === 'at least') return count >= limit;
    throw this.problem(`"${relationName}" is "${relation}", neither "less than" nor "at least"`);
  }

  private read<Value>(get: () => Value): Value {
    try {
      return get();
    } catch (cause) {
      throw this.problem(cause instanceof DomainError ? cause.message : String(cause));
    }
  }

  private problem(what: string): DomainError {
    return new DomainError(
      'bad-dataset',
      `kwargs of ${this.instruction}: ${what}. Give the row with its original fields.`,
    );
  }
}
