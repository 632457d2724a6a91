"""Writes what Python's Jinja, with the settings of transformers, makes of the expressions below.

    python3 -m venv FOLDER && FOLDER/bin/pip install jinja2==3.1.6
    FOLDER/bin/python scripts/template-expressions.py > test/unit/renderers/jinja/template-expressions.json

The environment is that of transformers' `_compile_jinja_template`.
"""

import json
from datetime import datetime

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=lineno)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(format):
    return datetime(2024, 7, 26).strftime(format)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = strftime_now

VALUES = r"""{
  "word": "  Ada\n\n", "text": "one two  three", "empty": "", "none": null, "yes": true, "no": false,
  "big": 9007199254740993, "two": 2.0, "tiny": 1e-05, "large": 1e22, "half": 0.5, "negative": -7, "zero": 0,
  "odd": "it's \"quoted\" \\ \u00e4\u4e2d\ud83d\ude00\u200b\u0001", "letters": "caab",
  "list": [3, 1, 2], "mixed": [1, 2.0, "x", null, true, [], {}], "words": ["b", "A", "c"],
  "people": [{"name": "Ada", "age": 36, "tags": ["x"]}, {"name": "Bob", "age": 25}, {"name": "cy", "age": 36}],
  "dict": {"b": 1, "a": {"c": [true, null, 1.50]}, "items": "mine", "1": "one"},
  "code": "    return x\n", "html": "<a href=\"x\">&</a>", "lines": "a\nb\n\nc"
}"""

EXPRESSIONS = [
    # text methods with characters
    "word.strip()", "word.strip('\\n')", "word.lstrip()", "word.rstrip('\\n')", "'abc'.rstrip('c')", "'xxaxx'.strip('x')",
    "'xxaxx'.lstrip('x')", "'abcba'.strip('ab')", "code.strip('\\n')", "code | trim", "code | trim('\\n')", "'<think>a'.lstrip('<think>')",
    "'\\ufeff a\\x85'.strip()", "text.split()", "text.split(' ')", "text.split(None, 1)", "text.split(' ', 1)", "text.rsplit(' ', 1)",
    "' a b '.split(None, 1)", "'a,b,,c'.split(',')", "'a</think>b'.split('</think>')[-1]", "'a</think>b'.split('</think>')[0].split('<think>')[-1]",
    "lines.splitlines()", "text.title()", "\"it's they're\".title()", "'éCOLE'.capitalize()", "text.replace('o', '0')", "text.replace('o', '0', 1)",
    "'abc'.replace('', '-')", "text.startswith('one')", "text.startswith(('x', 'o'))", "text.endswith('three')", "text.find('two')", "text.count('e')",
    "'abc'.index('c')", "', '.join(words)", "'a-b'.partition('-')", "'a-b-c'.rpartition('-')", "'abc'.removeprefix('a')", "'abc'.removesuffix('c')",
    "'12'.isdigit()", "'a1'.isalnum()", "'7'.zfill(3)", "'ab'.ljust(4) ~ '|'", "'ab'.rjust(4, '.')", "'{} and {}'.format(1, 'x')", "'{a}'.format(a=2)",
    # literals and texts of values
    "True", "true", "None", "none", "False", "2.0", "2", "1e5", "1e16", "1e22", "1.5e-7", "0.0001", "123456789012345680.0", "-0.0", "9007199254740993",
    "big", "two", "tiny", "large", "half", "list", "mixed", "dict", "[1, none]", "(1, 2)", "(1,)", "{'a': none}", "odd", "[odd]", "[\"it's\"]", "yes", "none ~ yes ~ two",
    "missing", "[missing | default('x')]", "'a' 'b'", "'\\t|\\x41|\\u00e4'", "[1.0, 1e-5, 1e100]",
    # arithmetic
    "1 + 2.0", "7 / 2", "7 // 2", "-7 // 2", "-7 % 3", "7 % -3", "2 ** 10", "2 ** -1", "big + 1", "big * big", "7.5 // 2", "-7.5 % 2", "'ab' * 3", "[1] + [2]", "'a' + 'b'",
    "1 + 2 ~ 3", "2 * 3 ~ 4", "-2 ** 2", "true + 1", "'%s is %d' % ('x', 3)", "'%05.2f|%-4s|%r' | format(3.14159, 'a', 'b')", "10 / 5",
    # comparing
    "1 == 1.0", "1 == true", "1 < 2 < 3", "1 < 3 < 2", "'a' < 'B'", "[1, 2] < [1, 3]", "'a' in 'abc'", "'a' not in words", "1 in list", "'b' in dict", "none == missing",
    "not 1 == 2", "1 and 'x'", "0 or 'y'", "'' or none", "1 if no", "1 if yes else 2", "(1 if no else 2) if yes else 3", "big == 9007199254740992.0", "[1] == (1,)",
    # members and slices
    "list[0]", "list[-1]", "list[9]", "list[1:]", "list[::-1]", "list[:-1]", "text[1:5:2]", "odd[-3]", "dict.b", "dict['b']", "dict['items']", "dict.missing", "dict.get('x')",
    "dict.get('x', 1)", "dict.get('b')", "dict.keys() | list", "dict.values() | list", "dict.items() | list", "dict | items | list", "people[0].name", "people.0.name", "list.1", "missing.x", "none.x", "missing.x.y", "text[99]",
    "mixed[-1]", "dict.a.c[2]", "dict[1]", "dict['1']",
    # filters
    "list | length", "odd | length", "list | sort", "words | sort", "words | sort(case_sensitive=true)", "list | sort(reverse=true)", "people | sort(attribute='age') | map(attribute='name') | join(',')",
    "list | first", "list | last", "list | sum", "people | sum(attribute='age')", "list | max", "words | min", "list | reverse | list", "text | upper", "text | title", "'hELLO wORLD' | capitalize",
    "list | join", "list | join(', ')", "mixed | join('|')", "people | map(attribute='name') | list", "people | map(attribute='tags', default='-') | list", "words | map('upper') | list", "words | map('replace', 'b', 'x') | list",
    "list | select('odd') | list", "list | reject('odd') | list", "list | select('>', 1) | list", "people | selectattr('tags') | list | length", "people | selectattr('age', 'equalto', 36) | map(attribute='name') | list",
    "people | rejectattr('tags', 'defined') | map(attribute='name') | list", "none | default('x')", "none | default('x', true)", "missing | default(none)", "missing | default([])", "empty | d('x', true)", "'a' | default('x')",
    "dict | dictsort", "{'b': 2, 'A': 1} | dictsort", "{'b': 1, 'a': 2} | dictsort(by='value')", "none | string", "two | string", "true | string", "none | upper", "none | trim", "none | length", "missing | length", "missing | trim",
    "none | list", "none | join", "'42' | int", "'x' | int(-1)", "3.9 | int", "'3.5' | float", "'1e3' | int", "2 | float", "2.567 | round(1)", "2.5 | round", "3.5 | round", "2.1 | round(method='ceil')", "2 | round", "-3 | abs",
    "lines | indent", "lines | indent(2, true)", "lines | indent(2, blank=true)", "html | e", "html | escape", "html | striptags", "html | safe", "text | wordcount", "[1, 1.0, 2, true] | unique | list", "words | unique | list", "list | batch(2) | list",
    "list | batch(2, 'x') | list", "list | slice(2) | list", "people | groupby('age') | map('first') | list", "text | truncate(8, true, leeway=0)", "text | truncate(9, leeway=0)", "'ab' | center(5) ~ '|'", "'a b/ü' | urlencode", "'%s!' | format('x')",
    "text | replace('o', '0')", "5 | replace('5', 'x')", "'abc' | list", "'abc' | reverse", "'abc' | first", "dict | list", "dict | length", "people | map(attribute='age') | unique | list", "list | nosuch", "people | attr('x')", "text | attr('upper')() ",
    # JSON
    "dict | tojson", "mixed | tojson", "odd | tojson", "odd | tojson(ensure_ascii=true)", "dict | tojson(indent=2)", "dict | tojson(indent=4, sort_keys=true)", "list | tojson(separators=(',', ':'))", "big | tojson", "two | tojson", "tiny | tojson", "large | tojson",
    "none | tojson", "true | tojson", "missing | tojson", "[] | tojson(indent=2)", "{} | tojson(indent=2)", "[[1], {'a': {}}] | tojson(indent=1)", "(1, 2) | tojson", "{1: 2, none: 3} | tojson", "html | tojson", "1e400 | tojson", "'\\x7f/' | tojson",
    # tests
    "missing is defined", "none is none", "none is defined", "1 is number", "true is number", "true is integer", "1 is integer", "2.0 is float", "2.0 is integer", "true is boolean", "'a' is string", "dict is mapping", "list is mapping", "list is sequence",
    "'a' is sequence", "dict is sequence", "missing is sequence", "missing is iterable", "1 is iterable", "dict is iterable", "3 is odd", "4 is even", "9 is divisibleby 3", "9 is divisibleby(2)", "1 is eq 1", "1 is sameas 1.0", "none is sameas none", "'a' is in 'abc'",
    "true is true", "1 is true", "false is false", "'A' is upper", "'a' is lower", "list is not string", "not list is string", "dict.items is callable", "1 is lt 2", "1 is nosuch", "'b' is defined and yes", "-1 is number",
    # calls
    "range(3) | list", "range(1, 7, 2) | list", "range(3, 0, -1) | list", "dict(a=1, b=none)", "namespace(a=1).a", "raise_exception('no')", "strftime_now('%d %b %Y')", "list.append(4)", "dict.update({})", "dict.pop('b')", "nosuch()", "text()", "range(5)[1:3] | list",
    "'a' < 1", "none + 'a'", "'a' + 1", "missing + 'a'", "1 // 0", "[] | first", "list | max(attribute='x')", "none in list", "'a' in none", "1 in missing",
]

TEMPLATES = [
    "{% for x in list %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in list if x > 1 %}{{ loop.index0 }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for k, v in dict.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in dict %}{{ k }}{% endfor %}",
    "{% for x in list %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% endfor %}",
    "{% for x in list %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in list %}{{ loop.cycle('a', 'b') }}{{ loop.revindex }}{{ loop.first }}{% endfor %}",
    "{% for x in words %}{{ loop.changed(x | lower) }}{% endfor %}",
    "{% set x = 1 %}{% for i in list %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(n=0) %}{% for i in list %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set t %}a{{ 1 }}{% endset %}[{{ t }}]",
    "{% set t | upper | trim %} a {% endset %}[{{ t }}]",
    "{% filter upper %}abc{{ 'd' }}{% endfilter %}",
    "{% macro m(a, b=2, c=none) %}{{ a }}{{ b }}{{ c }}{{ kwargs }}{{ varargs }}{% endmacro %}{{ m(1) }}|{{ m(1, c=3) }}|{{ m(1, 2, 3, 4, d=5) }}",
    "{% macro m(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) m(3) %}{{ x }}!{% endcall %}",
    "{% macro m() %}{% if x is not defined %}{% set x = 'local' %}{% endif %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}|{{ m(a=1) }}",
    "{% if empty %}a{% elif list %}b{% else %}c{% endif %}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}",
    "  {% if yes %}\n    a\n  {% endif %}\n  b\n",
    "a  {%- if yes -%}  b  {%- endif -%}  c",
    "  {%+ if yes %}\na{%+ endif %}\n",
    "{{ 1 }}\n{{- 2 }}\n{{ 3 -}}\n4\n\n",
    "{# a comment #}\nb\n  {# c -#}\n\n d",
    "{% raw %}{{ x }}{% endraw %}\ny",
    "{% raw -%}  {{ x }}  {%- endraw %}  y",
    "{{ '{{' }} {{ {'a': {'b': 1}}['a'] }}",
    "{{ {'a': {'b': 1}} }}",
    "{% generation %}\na\n{% endgeneration %}\nb",
    "{% for a in [1, 2] recursive %}{{ a }}{% if a is number and a < 2 %}{{ loop([5]) }}{% endif %}{% endfor %}",
    "{% for x in list %}{{ x }}\n{% endfor %}\nend",
    "{% for m in people %}{%- if loop.last or (not loop.last and people[loop.index0 + 1].age > 30) -%}{{ m.name }}{%- endif -%}{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% if yes %}a",
    "{{ 1",
    "{% nosuch %}",
    "{{ 'a' }",
    "{%- for x in range(2) %}\n  {{- x }}\n{%- endfor %}\n",
    "a\r\nb{% if yes %}\r\nc{% endif %}",
    "{% set x = namespace() %}{% set x.a = 1 %}{{ x.a }}{{ x.b }}",
    "{% set d = {} %}{% set d.a = 1 %}",
    "{% for i in 5 %}{% endfor %}",
    "{% for i in missing %}x{% else %}y{% endfor %}",
    "{% for i in none %}x{% endfor %}",
]


def result(template):
    try:
        return {"text": environment.from_string(template).render(**json.loads(VALUES))}
    except Exception as error:
        return {"raises": f"{type(error).__name__}: {error}"}


templates = ["{{ " + expression + " }}" for expression in EXPRESSIONS] + TEMPLATES
cases = [{"template": template, **result(template)} for template in templates]
print(json.dumps({"jinja2": jinja2.__version__, "values": VALUES, "cases": cases}, ensure_ascii=False, indent=1))
