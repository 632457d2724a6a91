/** Calls that a row of the Berkeley leaderboard accepts, in the language of its category. */
import { isWrittenAsFloat } from '../src/core/whole-floats';
import { isRow } from '../src/evaluation/graders/row-fields';
import type { Row } from '../src/evaluation/graders/row-grader';

interface Declared {
  readonly type: string;
  readonly itemType: string | null;
}

type Language = 'python' | 'java' | 'javascript';

export function callText(name: string, args: readonly (readonly [string, string])[]): string {
  return `${name}(${args.map(([key, value]) => `${key}=${value}`).join(', ')})`;
}

/** Every argument with the first value that is accepted; what may be left out and has no other value is. */
export function expectedText(row: Row): string {
  const id = String(row['id']);
  const language = id.includes('javascript') ? 'javascript' : id.includes('java') ? 'java' : 'python';
  const expected = Array.isArray(row['ground_truth']) ? row['ground_truth'].filter(isRow) : [];
  const calls = expected.map((each) => {
    const [[name, args] = ['', {}]] = Object.entries(each);
    const properties = propertiesOf(row, name);
    const required = requiredOf(row, name);
    const written = Object.entries(isRow(args) ? args : {}).flatMap(([key, accepted]) => {
      // Some rows accept values for arguments that are not declared; only leaving them out is right.
      if (!(key in properties)) return [];
      const omitted = required.includes(key) ? '""' : null;
      const text = firstText(accepted, declaredAs(properties[key]), language) ?? omitted;
      return text === null ? [] : [[key, text] as const];
    });
    return callText(name, written);
  });
  return `[${calls.join(', ')}]`;
}

function parametersOf(row: Row, name: string): Row {
  const declared = Array.isArray(row['function']) ? row['function'].filter(isRow) : [];
  const found = declared.find((each) => each['name'] === name) ?? declared[0];
  const parameters = found?.['parameters'];
  return isRow(parameters) ? parameters : {};
}

function propertiesOf(row: Row, name: string): Row {
  const { properties } = parametersOf(row, name);
  return isRow(properties) ? properties : {};
}

function requiredOf(row: Row, name: string): readonly unknown[] {
  const { required } = parametersOf(row, name);
  return Array.isArray(required) ? required : [];
}

function declaredAs(property: unknown): Declared {
  const { type, items } = isRow(property) ? property : {};
  return { type: String(type), itemType: isRow(items) ? String(items['type']) : null };
}

function firstText(accepted: unknown, declared: Declared, language: Language): string | null {
  if (!Array.isArray(accepted)) return null;
  const index = accepted.findIndex((value) => value !== '');
  if (index < 0) return null;
  const value: unknown = accepted[index];
  const isFloat = isWrittenAsFloat(accepted, String(index));
  return language === 'python'
    ? pythonText(value, { isFloat, declared })
    : foreignText(value, declared, language);
}

function pythonText(
  value: unknown,
  more: { readonly isFloat: boolean; readonly declared: Declared },
): string {
  const { isFloat, declared } = more;
  if (typeof value === 'number') return isFloat ? `${value}.0` : String(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null) return 'None';
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) {
    const items = value.map((each: unknown, index) =>
      pythonText(each, {
        isFloat: isWrittenAsFloat(value, String(index)),
        declared: { type: declared.itemType ?? 'any', itemType: null },
      }),
    );
    return `[${items.join(', ')}]`;
  }
  // A dict of a declared dict has a list of accepted values under each key.
  const entries = Object.entries(isRow(value) ? value : {}).flatMap(([key, each]) => {
    const text = Array.isArray(each)
      ? firstText(each, { type: 'any', itemType: null }, 'python')
      : pythonText(each, { isFloat: isRow(value) && isWrittenAsFloat(value, key), declared });
    return text === null ? [] : [`${JSON.stringify(key)}: ${text}`];
  });
  return `{${entries.join(', ')}}`;
}

const NUMBER_ENDINGS: Readonly<Record<string, string>> = { long: 'L', float: 'f', Bigint: 'n' };

function foreignText(value: unknown, declared: Declared, language: 'java' | 'javascript'): string {
  if (typeof value === 'string') return declared.type === 'String' ? JSON.stringify(value) : anyText(value);
  if (typeof value === 'number') return `${value}${endingOf(declared.type, language)}`;
  if (Array.isArray(value)) return foreignList(value, declared, language);
  if (!isRow(value)) return String(value);
  if (language === 'java') return 'new HashMap<String, Object>()';
  const entries = Object.entries(value).flatMap(([key, each]) => {
    const text = firstText(each, { type: 'String', itemType: null }, language);
    return text === null ? [] : [`${JSON.stringify(key)}: ${text}`];
  });
  return `{${entries.join(', ')}}`;
}

function endingOf(type: string, language: 'java' | 'javascript'): string {
  const hasEnding = (language === 'javascript') === (type === 'Bigint');
  return hasEnding ? (NUMBER_ENDINGS[type] ?? '') : '';
}

function foreignList(
  values: readonly unknown[],
  { type, itemType }: Declared,
  language: 'java' | 'javascript',
): string {
  const item = { type: itemType ?? 'String', itemType: null };
  // The official reader leaves the quotes of texts in a Java array on.
  const isBare = type === 'Array' && itemType === 'String';
  const items = values.map((each) => (isBare ? String(each) : foreignText(each, item, language))).join(', ');
  if (language === 'javascript') return `[${items}]`;
  return type === 'Array' ? `new Object[]{${items}}` : `new ArrayList<Object>(Arrays.asList(${items}))`;
}

/** A value of any type is source where it can be, else in quotes. */
function anyText(value: string): string {
  return /^[\w.]+$/.test(value) && !/\.\d+\./.test(value) ? value : JSON.stringify(value);
}
