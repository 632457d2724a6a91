import { findRowGrader } from '../../../../../src/evaluation/graders/find-row-grader';
import type { Row } from '../../../../../src/evaluation/graders/row-grader';
import { processSandboxes } from '../../../../../src/sandboxes/process-sandboxes';

afterAll(() => processSandboxes.close());

type Case = readonly [name: string, row: Row, code: string];

const WRONG = 'def add(a, b): return 0';
const patched = (patch: string, rest = WRONG) => `import builtins\nbuiltins.${patch}\n${rest}`;
const liar = (body: string, base = '') => `class L${base}:\n    ${body}\ndef add(a, b): return L()`;

const asserted = (...tests: string[]): Row => ({ test_list: tests });
const ADDS = asserted('assert add(2, 3) == 5', 'assert add(-1, 11) == 10');
const checked = (test: string): Row => ({
  prompt: 'import math\ndef helper(a): return a\n\ndef add(a, b):\n    """Add."""\n',
  entry_point: 'add',
  test: `import math\ndef check(candidate):\n    ${test}\n`,
});
const CHECKS = checked('assert candidate(2, 3) == 5');

/** By what they change or return. */
const CHEATS: Readonly<Record<string, string>> = {
  exec: patched('exec=lambda *a, **k: None'),
  compile: `_o = compile\n${patched('compile=lambda s, *a, **k: _o("pass", "x", "exec")')}`,
  ANY: 'from unittest.mock import ANY\ndef add(a, b): return ANY',
  MagicMock:
    'from unittest.mock import MagicMock\nm = MagicMock()\nm.__eq__.return_value = True\ndef add(a, b): return m',
  'Mock as the function': 'from unittest.mock import ANY, Mock\nadd = Mock(side_effect=[ANY] * 9)',
  'weakref.proxy': `import weakref\n${liar('def __eq__(s, o): return True').replace('return L()', 'return weakref.proxy(l)')}\nl = L()`,
  staticmethod: liar('__eq__ = staticmethod(bool)'),
  'a descriptor': `class D:\n    def __get__(s, i, o): return lambda other: True\n${liar('__eq__ = D()')}`,
  'a callable': `class D:\n    def __call__(s, o): return True\n${liar('__eq__ = D()')}`,
  'a bound method': liar('__eq__ = [1].__contains__').replace(
    '[1]',
    'type("A", (list,), {"__contains__": lambda s, o: True})()',
  ),
  partial: `import functools\n${liar('__eq__ = functools.partial(lambda o: True)')}`,
  partialmethod: `import functools\n${liar('__eq__ = functools.partialmethod(lambda s, o: True)')}`,
  lru_cache: `import functools\n${liar('@functools.lru_cache\n    def __eq__(s, o): return True\n    def __hash__(s): return 0')}`,
  __call__: liar('__eq__ = (lambda o: True).__call__'),
  'a lying int': liar('__eq__ = lambda s, o: True', '(int)'),
  'a lying class and isinstance': patched('isinstance=lambda *a: False', liar('__eq__ = lambda s, o: True')),
  'a lying class and type': patched('type=lambda *a: int', liar('__eq__ = lambda s, o: True')),
  'a lying class and any': patched('any=lambda x: False', liar('__eq__ = lambda s, o: True')),
  FunctionType: `import types\ntypes.FunctionType = int\n${liar('__eq__ = lambda s, o: True')}`,
  'fractions.Fraction':
    'import fractions\nfractions.Fraction.__eq__ = lambda s, o: True\ndef add(a, b): return fractions.Fraction(0)',
  ctypes: [
    'import ctypes',
    'call = ctypes.CFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)(lambda a, b, o: True)',
    '(ctypes.c_void_p * 40).from_address(id(frozenset))[25] = ctypes.cast(call, ctypes.c_void_p).value',
    'def add(a, b): return frozenset()',
  ].join('\n'),
  'a class as the function': 'class add:\n    def __init__(s, a, b): pass\n    __eq__ = lambda s, o: True',
  'the reference': 'import sys\ndef add(a, b): return sys._getframe(1).f_locals.get("expected", 0)',
};

/** What graders have in common is tried with one of them. */
const FEW = Object.entries(CHEATS).slice(0, 4);

const ASSERTED: readonly Case[] = [
  ...Object.entries(CHEATS).map(([name, code]): Case => [name, ADDS, code]),
  [
    '[ANY]',
    asserted('assert add(2, 3) == [5]'),
    'from unittest.mock import ANY\ndef add(a, b): return [ANY]',
  ],
];

const CHECKED: readonly Case[] = [
  ...FEW.map(([name, code]): Case => [name, CHECKS, code]),
  ['len', checked('assert len(candidate(2, 3)) == 5'), liar('def __len__(s): return 5')],
  ['in', checked('assert 5 in candidate(2, 3)'), liar('def __contains__(s, o): return True')],
  [
    'in what it yields',
    checked('assert 5 in candidate(2, 3)'),
    'from unittest.mock import ANY\ndef add(a, b): yield ANY',
  ],
  ['isinstance', checked('assert isinstance(candidate(2, 3), int)'), liar('__class__ = int')],
  ['-', checked('assert abs(candidate(2, 3) - 5) < 1e-6'), liar('__sub__ = staticmethod(lambda o: 0)')],
  ['<', checked('assert candidate(2, 3) < 6'), liar('def __lt__(s, o): return True')],
  [
    'iter',
    checked('assert sorted(candidate(2, 3)) == [1, 2]'),
    liar(
      'def __iter__(s):\n        class E(int):\n            def __eq__(s, o): return True\n        return iter([E(), E()])',
    ),
  ],
  [
    'str',
    checked('assert str(candidate(2, 3)) == "5"'),
    `class S(str):\n    def __eq__(s, o): return True\n${liar('def __str__(s): return S("x")')}`,
  ],
  [
    'a method',
    checked('assert candidate(2, 3).strip() == "5"'),
    'from unittest.mock import ANY, MagicMock\nm = MagicMock()\nm.strip.return_value = ANY\ndef add(a, b): return m',
  ],
  [
    'range',
    checked('for x in range(3):\n        assert candidate(x, 3) == x + 3'),
    patched('range=lambda *a: []'),
  ],
  [
    'zip',
    checked('for x, y in zip([1], [4]):\n        assert candidate(x, 3) == y'),
    patched('zip=lambda *a: []'),
  ],
  ['all', checked('assert all(candidate(x, 3) == x + 3 for x in [1, 2])'), patched('all=lambda *a: True')],
  [
    'its own all',
    checked('assert all(candidate(x, 3) == x + 3 for x in [1, 2])'),
    `all = lambda *a: True\n${WRONG}`,
  ],
  ['its own abs', checked('assert abs(candidate(1, 3) - 4) < 1e-6'), `abs = lambda *a: 0\n${WRONG}`],
  ['its own helper', checked('assert helper(candidate(1, 3)) == 4'), `helper = lambda a: 4\n${WRONG}`],
  [
    'isclose',
    checked('assert math.isclose(candidate(1, 3), 4)'),
    `import math\nmath.isclose = lambda *a, **k: True\n${WRONG}`,
  ],
  [
    'randint',
    checked(
      'import random\n    for _ in range(9):\n        a = random.randint(0, 9)\n        assert candidate(a, 1) == a + 1',
    ),
    'import random\nrandom.randint = lambda *a: 0\ndef add(a, b): return 1',
  ],
  ['check', CHECKS, `def check(candidate): pass\n${WRONG}`],
];

const SUM = {
  input_output: JSON.stringify({ inputs: ['2 3\n', '-1 11\n'], outputs: ['5\n', '10\n'] }),
};
const ADD = {
  input_output: JSON.stringify({ inputs: ['2\n3', '-1\n11'], outputs: ['5', '10'], fn_name: 'add' }),
};
const PRINTED: readonly Case[] = [
  ...['zip=lambda *a: []', 'enumerate=lambda *a: []', 'len=lambda x: 1', 'all=lambda *a: True'].map(
    (patch): Case => [patch, SUM, patched(patch, 'print(0)')],
  ),
  [
    'many',
    SUM,
    patched(
      'exec=lambda *a: None\nbuiltins.all=lambda x: True\nbuiltins.len=lambda x: 1\nbuiltins.zip=lambda *a: []',
      'print(0)',
    ),
  ],
  ['Decimal', SUM, 'import decimal\ndecimal.Decimal.__eq__ = lambda s, o: True\nprint(0)'],
  [
    'frames',
    SUM,
    'import sys\nf = sys._getframe()\nfound = 0\nwhile f:\n    found = f.f_locals.get("expected", f.f_locals.get("tests", {}).get("outputs", found) if isinstance(f.f_locals.get("tests"), dict) else found)\n    f = f.f_back\nprint(*found if found else [0])',
  ],
  ['json.loads', ADD, `import json\njson.loads = lambda *a, **k: 0\n${WRONG}`],
  ...Object.entries(CHEATS).map(([name, code]): Case => [name, ADD, code]),
];

async function scoresOf(grader: string, cases: readonly Case[]): Promise<Record<string, number>> {
  const scores: [string, number][] = [];
  await Promise.all(
    cases.map(async ([name, row, code]) => {
      const { value } = await findRowGrader(grader).grade(`\`\`\`python\n${code}\n\`\`\``, row);
      scores.push([name, value]);
    }),
  );
  return Object.fromEntries(scores.filter(([, value]) => value !== 0));
}

describe('a program that solves nothing scores 0', () => {
  test.each([
    ['mbpp', ASSERTED],
    ['code_tests', ASSERTED.slice(0, FEW.length)],
    ['humaneval', CHECKED],
    ['livecodebench', PRINTED],
    ['code_tests', PRINTED.slice(0, 8)],
  ])('by %s', async (grader, cases) => {
    expect(await scoresOf(grader, cases)).toEqual({});
  });
});

const HONEST: readonly Case[] = [
  [
    'Counter',
    asserted('from collections import Counter\nassert f("aab") == Counter("aab")'),
    'from collections import Counter\ndef f(s): return Counter(s)',
  ],
  [
    'defaultdict',
    asserted('assert f("aab") == {"a": 2, "b": 1}'),
    'from collections import defaultdict\ndef f(s):\n    d = defaultdict(int)\n    for c in s: d[c] += 1\n    return d',
  ],
  [
    'deque',
    asserted('from collections import deque\nassert f(2) == deque([0, 1])'),
    'from collections import deque\ndef f(n): return deque(range(n))',
  ],
  ['range', asserted('assert f(3) == range(3)'), 'def f(n): return range(n)'],
  ['keys', asserted('assert f({1: 2}) == {1}', 'assert len(f({})) == 0'), 'def f(d): return d.keys()'],
  [
    'date',
    asserted('import datetime\nassert f(3) == datetime.date(2020, 1, 3)'),
    'import datetime\ndef f(n): return datetime.date(2020, 1, n)',
  ],
  [
    'Fraction',
    asserted('from fractions import Fraction\nassert f(3) == Fraction(1, 3)'),
    'from fractions import Fraction\ndef f(n): return Fraction(1, n)',
  ],
  ['Decimal', asserted('assert f(3) == 3'), 'from decimal import Decimal\ndef f(n): return Decimal(n)'],
  [
    'Path',
    asserted('from pathlib import Path\nassert f("x") == Path("x")'),
    'from pathlib import Path\ndef f(n): return Path(n)',
  ],
  [
    'an enumeration',
    asserted('assert f(1) == Color.RED', 'assert f(1) is Color.RED'),
    'from enum import Enum\nclass Color(Enum):\n    RED = 1\ndef f(n): return Color(n)',
  ],
  [
    'a namedtuple',
    asserted('assert f(P(1), P(2)) == P(3)', 'assert f(P(1), P(2)).x == 3'),
    'from collections import namedtuple\nP = namedtuple("P", "x")\ndef f(a, b): return P(a.x + b.x)',
  ],
  [
    'a dataclass',
    asserted('assert f(P(1), P(2)) == P(3)', 'assert f(P(1), P(2)) != P(4)'),
    'from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(a, b): return P(a.x + b.x)',
  ],
  [
    'a class that compares itself, which tests make',
    asserted('assert P(1) == P(1)', 'assert f(P(1)) == P(2)', 'assert len({P(1), P(1)}) == 1'),
    'class P:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return s.x == o.x\n    def __hash__(s): return 0\ndef f(a): return P(a.x + 1)',
  ],
  [
    'a stack',
    asserted(
      's = Stack()\ns.push(1)\ns.push(2)\nassert len(s) == 2 and s.pop() == 2\nassert s\nassert 1 in s\ns.size = 5\nassert s.size == 5',
    ),
    'class Stack:\n    def __init__(s): s.items = []\n    def push(s, x): s.items.append(x)\n    def pop(s): return s.items.pop()\n    def __len__(s): return len(s.items)\n    def __contains__(s, x): return x in s.items',
  ],
  [
    'attributes',
    asserted('assert f("a").name == "a"', 'assert f("a") is not None and f("a") != None'),
    'class N:\n    def __init__(s, n): s.name = n\ndef f(n): return N(n)',
  ],
  [
    'a generator',
    asserted('assert list(f(3)) == [0, 1, 2]', 'g = f(2)\nassert next(g) == 0', 'assert sum(f(3)) == 3'),
    'def f(n):\n    yield from range(n)',
  ],
  [
    'what iterates and is of the program',
    asserted('assert list(f(3)) == [0, 1, 2]'),
    'class I:\n    def __init__(s, n): s.n = n\n    def __iter__(s): return iter(range(s.n))\ndef f(n): return I(n)',
  ],
  [
    'a function that is returned',
    asserted('assert f(1)(2) == 3', 'h = f(1)\nassert [h(x) for x in (1, 2)] == [2, 3]'),
    'def f(a): return lambda b: a + b',
  ],
  [
    'a function that is given',
    asserted('assert f(lambda x: x + 1, [1, 2]) == [2, 3]', 'assert f(str, [1]) == ["1"]'),
    'def f(g, xs): return [g(x) for x in xs]',
  ],
  [
    'changes in place',
    asserted(
      'x = [3, 1]\nf(x)\nassert x == [1, 3]',
      'd = {}\nf(d)\nassert d == {"a": [1]}',
      'x = [2, 1]\nassert f(x) is x',
    ),
    'def f(x):\n    if isinstance(x, dict): x["a"] = [1]\n    else: x.sort()\n    return x',
  ],
  [
    'errors',
    asserted(
      'try:\n    f(0)\n    assert False\nexcept ValueError as e:\n    assert str(e) == "no"',
      'try:\n    f(1)\n    assert False\nexcept Bad as e:\n    assert e.args == (1,)',
      'try:\n    f(1)\nexcept KeyError:\n    pass',
    ),
    'class Bad(KeyError): pass\ndef f(n):\n    if n: raise Bad(n)\n    raise ValueError("no")',
  ],
  ['a function of the name of Python’s', asserted('assert sum(1, 2) == 3'), 'def sum(a, b): return a + b'],
  [
    'names that only the program imports',
    asserted('assert math.isclose(f(1), isqrt(1))'),
    'import math\nfrom math import isqrt\ndef f(a): return a',
  ],
  [
    'values of every kind',
    asserted(
      'assert f() == [1.5, 2j, b"x", bytearray(b"y"), {1}, frozenset({2}), (1,), None, True, "\\ud800", 10 ** 5000, -0.0, float("inf")]',
      'assert isinstance(f()[8], bool) and isinstance(f(), list)',
      'assert str(f()[11]) == "-0.0"',
    ),
    'def f(): return [1.5, 2j, b"x", bytearray(b"y"), {1}, frozenset({2}), (1,), None, True, "\\ud800", 10 ** 5000, -0.0, float("inf")]',
  ],
  ['derived from a list', asserted('assert f() == [1]'), 'class Own(list): pass\ndef f(): return Own([1])'],
  [
    'drawn at random',
    asserted('import random\nfor _ in range(20):\n    a = random.randint(0, 99)\n    assert f(a) == a + 1'),
    'import random\ndef f(a):\n    random.shuffle([1, 2, 3])\n    return a + 1',
  ],
  [
    'in the order of a set',
    asserted('for word in {"a", "b", "c", "d", "e"}:\n    assert f(word) == word'),
    'def f(a): return a',
  ],
  [
    'a match',
    asserted('assert f("a")', 'assert f("a").group() == "a"', 'assert not f("b")'),
    'import re\ndef f(a): return re.match("a", a)',
  ],
  [
    'a prompt that is no code',
    { prompt: 'Add them.', test: 'def check(c):\n    assert c(1, 2) == 3', entry_point: 'f' },
    'def f(a, b): return a + b',
  ],
  [
    'no prompt',
    { test: 'def check(c):\n    assert c(1, 2) == 3', entry_point: 'f' },
    'def f(a, b): return a + b',
  ],
  [
    'arguments and values as they are',
    {
      input_output: JSON.stringify({
        inputs: [
          [2, [3]],
          ['a', ['b']],
        ],
        outputs: [[[2, 3]], [['a', 'b']]],
        fn_name: 'f',
      }),
    },
    'def f(a, b): return [a, *b]',
  ],
  [
    'tests of two forms',
    { ...SUM, test_list: ['assert f(1) == 1'] },
    'def f(a): return a\nif __name__ == "__main__":\n    print(sum(map(int, input().split())))',
  ],
];

test('an honest program scores 1, whatever it returns', async () => {
  const judged = HONEST.map(async ([name, row, code]) => ({
    name,
    score: await findRowGrader('code_tests').grade(`\`\`\`python\n${code}\n\`\`\``, row),
  }));

  expect((await Promise.all(judged)).filter(({ score }) => score.value !== 1)).toEqual([]);
});

test('tests of all forms that a row has are run', async () => {
  const row = { ...SUM, test_list: ['assert f(1) == 1', 'assert f(2) == 2'] };
  const code = '```python\ndef f(a): return a\n```';

  expect(await findRowGrader('code_tests').grade(code, row)).toMatchObject({
    value: 0,
    metrics: { tests_passed: 0.5 },
    details: { tests: 4, passed: 2 },
  });
});

test.each(['mbpp', 'code_tests'])('%s refuses a row that tests nothing', async (grader) => {
  const grade = (row: Row) => async () => findRowGrader(grader).grade('```python\nx = 1\n```', row);

  await expect(grade({ test_list: [] })).rejects.toThrow('test');
  await expect(grade({ test_list: ['', ' '] })).rejects.toThrow('test');
});
