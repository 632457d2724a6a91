import { EndlessTemplate } from '../../../../src/renderers/jinja/template-error';
import { replacedEach, rewritten } from '../../../../src/renderers/jinja/text-writer';
import { compileTemplate } from '../../../../src/renderers/template-environment';

const LONG = "{% set b = 'a' * 19999000 %}";

test.each([
  `{% set z = namespace(a=[]) %}${LONG}{% for i in range(1000) %}{% set z.a = z.a + [b|upper] %}{% endfor %}`,
  `${LONG}{% for i in range(1000) %}{{ b }}{% endfor %}`,
  '{% set z = namespace(a=[]) %}{% set b = [1] * 4000000 %}{% for i in range(1000) %}{% set z.a = z.a + [b + [i]] %}{% endfor %}',
  "{{ ('a\n' * 5000000) | indent(100) }}",
  "{{ 'a' | indent(600000000) }}",
  "{{ 'a' | center(500000000) }}",
  "{{ ([-(2 ** 490000)] * 100000) | map('abs') | list | length }}",
  "{{ (['x' * 10000000] * 50) | map('upper') | list | length }}",
  "{{ '%900000000d' % 3 }}",
  "{{ 'a'.ljust(600000000) }}",
  "{{ 'a'.zfill(600000000) }}",
  "{{ range(100000) | join('a' * 10000) }}",
  "{{ ('a' * 100000).replace('a', 'b' * 10000) }}",
  "{{ ([('a' * 19000000)] * 300) | string }}",
  "{{ ([('a' * 19000000)] * 300) | tojson }}",
  "{{ ([('A' * 19000000)] * 3000) | sort }}",
  "{{ ([('A' * 19000000)] * 3000) | unique | list }}",
  "{{ ([('A' * 19000000)] * 3000) | select('upper') | list }}",
  "{{ ('a' * 19000000).replace('a', 'b' * 100, 18000000) }}",
  "{{ ('{0}' * 6000000).format('a' * 1000) }}",
  '{% set z = namespace(a=0) %}{% set b = 2 ** 300000 %}{% for i in range(100000) %}{% set z.a = [z.a, b + i] %}{% endfor %}',
])('what a template makes is bounded before it is made: %s', (source) => {
  expect(() => compileTemplate(source)({})).toThrow(EndlessTemplate);
});

test('a long conversation that is put together message by message is written', () => {
  const template = compileTemplate(
    "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t + '<|' + m.role + '|>' + (m.content | trim) + '\n' %}{% if '</think>' in m.content %}!{% endif %}{% endfor %}{{ ns.t }}",
  );
  const messages = Array.from(
    { length: 2000 },
    () =>
      new Map([
        ['role', 'user'],
        ['content', 'x'.repeat(2500)],
      ]),
  );

  expect(template({ messages })).toHaveLength(2000 * (2500 + '<|user|>\n'.length));
});

test.each([
  ["('1' * 19000000) | int", '0'],
  ["('1' * 19000000) | int(0, 2)", '0'],
  ["('1' * 19000000 + 'x') | float", '0.0'],
  [
    "'1.5e1 .5 1. 1e5 -2 e5 . +-1 0x1 1e'.split() | map('float') | join(' ')",
    '15.0 0.5 1.0 100000.0 -2.0 0.0 0.0 0.0 0.0 0.0',
  ],
  ["('a' * 19000000)[1:] | length", '18999999'],
  ["('a' * 19000000) < ('a' * 18999999 + 'b')", 'True'],
  ["('a' * 19000000)[-1]", 'a'],
])('a long text is looked into without a list of its characters: %s', (expression, written) => {
  expect(compileTemplate(`{{ ${expression} }}`)({})).toBe(written);
});

test.each([1, 6])('no more of a text is rewritten than it may become, at %i characters for one', (times) => {
  let readCount = 0;
  const rewrite = () =>
    rewritten('a'.repeat(100_000_000), (slice) => {
      readCount += slice.length;
      return slice.repeat(times);
    });

  expect(rewrite).toThrow(EndlessTemplate);
  expect(readCount * times).toBeLessThan(21_000_000);
});

test('no more of a text is replaced than it may become', () => {
  let foundCount = 0;
  const replace = () =>
    replacedEach('a'.repeat(1_000_000), /a/g, () => {
      foundCount++;
      return 'b'.repeat(1000);
    });

  expect(replace).toThrow(EndlessTemplate);
  expect(foundCount).toBe(20_001);
});
