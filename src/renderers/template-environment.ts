import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { FIXED_DAY } from './fixed-day';

/** Renders one chat template with different conversations. */
export type ChatTemplate = (values: Readonly<Record<string, unknown>>) => string;

/** What templates that write the date are told. */
const [YEAR = '', MONTH = '', DAY = ''] = FIXED_DAY.split('-');
const FIXED_DATE = new Map([
  ['%Y', YEAR],
  ['%y', YEAR.slice(2)],
  ['%m', MONTH],
  ['%d', DAY],
  ['%B', 'July'],
  ['%b', 'Jul'],
  ['%A', 'Friday'],
  ['%a', 'Fri'],
  ['%H', '00'],
  ['%M', '00'],
  ['%S', '00'],
]);

export function compileTemplate(source: string): ChatTemplate {
  const program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  return (values) => {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...GLOBALS, ...values })) environment.set(name, value);
    const { value } = new Interpreter(environment).run(program);
    return String(value);
  };
}

/** The library's own globals cannot be replaced once set, and its clock has to be. */
const GLOBALS = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception: (message: unknown) => {
    throw new Error(String(message));
  },
  range: (first: number, end?: number, step = 1) => {
    const [from, to] = end === undefined ? [0, first] : [first, end];
    return Array.from(
      { length: Math.max(0, Math.ceil((to - from) / step)) },
      (_, index) => from + index * step,
    );
  },
  strftime_now: (format: string) => format.replace(/%\w/g, (part) => FIXED_DATE.get(part) ?? part),
};
