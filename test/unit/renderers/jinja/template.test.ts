import { compileTemplate } from '../../../../src/renderers/template-environment';
import { fromJson } from '../../../../src/renderers/jinja/json';
import { isMap } from '../../../../src/renderers/jinja/values';
import type { Value } from '../../../../src/renderers/jinja/values';
import recorded from './template-expressions.json';

/** What Python's Jinja with transformers' settings makes of templates; written by `scripts/template-expressions.py`. */
interface Case {
  readonly template: string;
  readonly text?: string;
  readonly raises?: string;
}

const cases: readonly Case[] = recorded.cases;
const read = fromJson(recorded.values);
const values = Object.fromEntries(isMap(read) ? [...read] : []) as Record<string, Value>;

test.each(cases.filter(({ raises }) => raises === undefined))(
  'writes $template as Jinja2 does',
  ({ template, text }) => {
    expect(compileTemplate(template)(values)).toBe(text);
  },
);

test.each(cases.filter(({ raises }) => raises !== undefined))(
  'refuses $template, as Jinja2 does ($raises)',
  ({ template }) => {
    expect(() => compileTemplate(template)(values)).toThrow();
  },
);

test.each([
  ["{{ ('x' * 100000000) | upper }}", 'a value of 100000000 items is too long'],
  [
    '{% set ns = namespace(x=7) %}{% for i in range(40) %}{% set ns.x = ns.x * ns.x %}{% endfor %}',
    'a product',
  ],
  [
    "{% set ns = namespace(x='ab') %}{% for i in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    'too long',
  ],
  [
    "{% set ns = namespace(x='ab') %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    'too long',
  ],
])('what becomes larger and larger is refused: %s', (template, problem) => {
  expect(() => compileTemplate(template)({})).toThrow(problem);
});
