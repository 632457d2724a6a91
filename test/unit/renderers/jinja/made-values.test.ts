import { EndlessTemplate } from '../../../../src/renderers/jinja/template-error';
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
