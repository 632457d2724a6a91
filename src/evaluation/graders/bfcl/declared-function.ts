import { isRow } from '../row-fields';

/** A parameter as the task declares it. */
export interface DeclaredParameter {
  readonly type: string;
  /** Of the items of a list. */
  readonly itemType: string | null;
}

export interface DeclaredFunction {
  readonly name: string;
  readonly required: readonly string[];
  readonly parameters: ReadonlyMap<string, DeclaredParameter>;
}

export function readDeclarations(value: unknown): readonly DeclaredFunction[] {
  return (Array.isArray(value) ? value : [value]).filter(isRow).map(readDeclaration);
}

function readDeclaration(row: Readonly<Record<string, unknown>>): DeclaredFunction {
  const parameters = isRow(row['parameters']) ? row['parameters'] : {};
  const properties = isRow(parameters['properties']) ? parameters['properties'] : {};
  const required = Array.isArray(parameters['required']) ? parameters['required'] : [];
  return {
    name: String(row['name']),
    required: required.map(String),
    parameters: new Map(Object.entries(properties).map(([name, details]) => [name, readParameter(details)])),
  };
}

function readParameter(details: unknown): DeclaredParameter {
  const { type, items } = isRow(details) ? details : {};
  const itemType = isRow(items) && typeof items['type'] === 'string' ? items['type'] : null;
  return { type: typeof type === 'string' ? type : 'any', itemType };
}
