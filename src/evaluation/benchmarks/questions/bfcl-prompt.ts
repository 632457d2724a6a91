import type { Message } from '../../../core/conversation';
import type { ToolDeclaration } from '../../../core/completion';
import { ownValue } from '../../../core/own-value';
import { pythonJson } from './python-json';
import { isRow, lacking } from '../../graders/row-fields';
import type { Row } from '../../graders/row-grader';

/** The leaderboard's prompt as it is put together there, the missing and the doubled blank included. */
const INSTRUCTIONS =
  'You are an expert in composing functions.' +
  'You are given a question and a set of possible functions. Based on the question, you will need to make one or more function/tool calls to achieve the purpose. If none of the functions can be used, point it out. If the given question lacks the parameters required by the function, also point it out.\n\n' +
  'You should only return the function calls in your response.\n\n' +
  'If you decide to invoke any of the function(s), you MUST put it in the format of [func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)].  You SHOULD NOT include any other text in the response.\n\n' +
  "At each turn, you should try your best to complete the tasks requested by the user within the current turn. Continue to output functions to call until you have fulfilled the user's request to the best of your ability. Once you have no more functions to call, the system will consider the current turn complete and proceed to the next turn or task.\n\n" +
  'Here is a list of functions in json format that you can invoke.\n';

const LANGUAGES = { python: 'Python 3', java: 'Java 8 SDK', javascript: 'JavaScript' };
const INDENT = 4;
const COLLECTIONS = ['ArrayList', 'Array', 'array'];

/** The types of the leaderboard's declarations as JSON schemas know them. */
const SCHEMA_TYPES: Readonly<Record<string, string>> = {
  integer: 'integer',
  byte: 'integer',
  short: 'integer',
  long: 'integer',
  Bigint: 'integer',
  number: 'number',
  float: 'number',
  double: 'number',
  boolean: 'boolean',
  bool: 'boolean',
  Boolean: 'boolean',
  array: 'array',
  list: 'array',
  tuple: 'array',
  Array: 'array',
  ArrayList: 'array',
  Queue: 'array',
  Stack: 'array',
  dict: 'object',
  object: 'object',
  HashMap: 'object',
  Hashtable: 'object',
};

type Language = keyof typeof LANGUAGES;

/** In which language a category wants its calls. */
function languageOf(id: string): Language {
  if (id.includes('javascript')) return 'javascript';
  return id.includes('java') ? 'java' : 'python';
}

/** The first turn of a row's question. */
export function questionMessages(row: Row): readonly Message[] {
  const question: unknown = row['question'];
  const turn: unknown = Array.isArray(question) ? question[0] : undefined;
  const messages: readonly unknown[] = Array.isArray(turn) ? turn : [turn];
  return messages.map((message) => {
    const { role, content } = isRow(message) ? message : {};
    if (typeof role !== 'string' || typeof content !== 'string')
      throw lacking(['question'], 'a list of messages');
    return { role, content };
  });
}

/** The conversation of the official prompting mode: declarations before the question, before a system prompt of its own. */
export function promptedMessages(row: Row, id: string): readonly Message[] {
  const declared = pythonJson(
    declarationsOf(row).map((each) => withHints(each, languageOf(id))),
    INDENT,
  );
  const instructions = `${INSTRUCTIONS}${declared}\n`;
  const [first, ...others] = questionMessages(row);
  if (first?.role === 'system')
    return [{ role: 'system', content: `${instructions}\n\n${textOf(first)}` }, ...others];
  return [{ role: 'system', content: instructions }, ...(first ? [first] : []), ...others];
}

/** The declarations for services and prompt formats that know tools, and what each is called in the row. */
export function toolsOf(
  row: Row,
  id: string,
): { readonly tools: readonly ToolDeclaration[]; readonly names: ReadonlyMap<string, string> } {
  const declared = declarationsOf(row).map((each) => withHints(each, languageOf(id)));
  const tools = declared.map(({ name, description, parameters }) => ({
    // Services refuse dots in names.
    name: String(name).replaceAll('.', '_'),
    description: typeof description === 'string' ? description : '',
    parameters: schemaOf(isRow(parameters) ? { ...parameters, type: 'dict' } : { type: 'dict' }),
  }));
  return {
    tools,
    names: new Map(declared.map(({ name }) => [String(name).replaceAll('.', '_'), String(name)])),
  };
}

function textOf({ content }: Message): string {
  return typeof content === 'string' ? content : '';
}

function declarationsOf(row: Row): readonly Row[] {
  const given: unknown = row['function'];
  const all: readonly unknown[] = Array.isArray(given) ? given : [given];
  const declared = all.filter(isRow);
  if (declared.length > 0 || Array.isArray(given)) return declared;
  throw lacking(['function'], 'a list of declarations');
}

function withHints(declaration: Row, language: Language): Row {
  const { description, parameters } = declaration;
  const hint = ` Note that the provided function is in ${LANGUAGES[language]} syntax.`;
  const hinted = { ...declaration, description: `${String(description)}${hint}` };
  if (language === 'python' || !isRow(parameters) || !isRow(parameters['properties'])) return hinted;
  const described = Object.entries(parameters['properties']).map(
    ([name, details]) => [name, asText(isRow(details) ? details : {}, language)] as const,
  );
  const properties: Row = Object.fromEntries(described);
  return { ...hinted, parameters: { ...parameters, properties } };
}

/** Values of other languages are written as text; the description says what the text is. */
function asText(details: Row, language: 'java' | 'javascript'): Row {
  const { items, properties, ...kept } = details;
  const type = String(details['type']);
  const isList = COLLECTIONS.includes(type);
  const isDict = language === 'javascript' && type === 'dict';
  const hints = [
    `${String(details['description'])}${typeHint(type, language)}`,
    isList && isRow(items)
      ? ` The list elements are of type ${String(items['type'])}; they are not in string representation.`
      : '',
    isDict && properties !== undefined
      ? ` The dictionary entries have the following schema; they are not in string representation. ${pythonJson(properties, null)}`
      : '',
  ];
  return {
    ...kept,
    ...rest(isList, { items }),
    ...rest(isDict, { properties }),
    description: hints.join(''),
    type: 'string',
  };
}

/** What a description does not say already. */
function rest(isSaid: boolean, part: Row): Row {
  return isSaid || Object.values(part)[0] === undefined ? {} : part;
}

function typeHint(type: string, language: 'java' | 'javascript'): string {
  const name = language === 'java' ? 'Java' : 'JavaScript';
  return type === 'any'
    ? ` This parameter can be of any type of ${name} object in string representation.`
    : ` This is ${name} ${type} type parameter in string representation.`;
}

function schemaOf(declared: Row): Row {
  const { type, properties, items } = declared;
  return {
    ...declared,
    type: ownValue(SCHEMA_TYPES, String(type)) ?? 'string',
    ...(type === 'float' && {
      format: 'float',
      description: `${String(declared['description'])} This is a float type value.`,
    }),
    ...(isRow(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, schemaOf(isRow(each) ? each : {})]),
      ),
    }),
    ...(isRow(items) && { items: schemaOf(items) }),
  };
}
