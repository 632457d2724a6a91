import { JinjaTemplate } from '../../../src/renderers/jinja/template';
import { DomainError } from '../../../src/core/errors';
import { TemplateError } from '../../../src/renderers/jinja/template-error';
import type { FuzzTarget } from '../target';
import { textOf } from '../target';

const CHAT =
  "{%- if messages[0].role == 'system' %}{{ '<|system|>' + messages[0]['content'] | trim }}{% endif %}" +
  "{% for message in messages %}{% if loop.first and not loop.last %}A{% elif message.tool_calls is defined %}{{ message.tool_calls | tojson(indent=2) }}{% else %}{{ message.content.split('</think>')[-1].strip('\\n') }}{% endif %}{% endfor %}" +
  '{% set ns = namespace(n=0) %}{% macro f(a, b=1) %}{{ a ~ b }}{% endmacro %}{{ f(1) }}{% set ns.n = ns.n + 1 %}{{ ns.n % 2 }}{{ range(5)[::-1] | list | join(", ") }}';

/** Chat templates of models. */
export const target: FuzzTarget = {
  name: 'jinja',
  seeds: () => [
    CHAT,
    '{{ bos_token }}{{ raise_exception("no") }}',
    '{%- for a, b in x.items() %}{{ loop.index0 }}{% endfor -%}',
  ],
  words: [
    ...[
      '{%',
      '%}',
      '{{',
      '}}',
      '{#',
      '#}',
      '-%}',
      '| tojson',
      '| join',
      '* 999999999',
      '** 99999',
      '.format(1)',
      '[::-1]',
    ],
    ...[
      'range(999999999)',
      'namespace()',
      "'x' * 99999999",
      '.__class__',
      '.constructor',
      'is defined',
      'loop.cycle',
      '.replace("", "a")',
    ],
  ],
  isRefusal: (error) => error instanceof TemplateError || error instanceof DomainError,
  run: (bytes) =>
    new JinjaTemplate(textOf(bytes)).render({
      bos_token: '<s>',
      add_generation_prompt: true,
      x: 'text',
      n: 3,
    }),
};
