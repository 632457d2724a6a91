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
  'an object as the function':
    'class L:\n    def __eq__(s, o): return True\n    def __call__(s, a, b): return s\nadd = L()',
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

/** What tests make themselves and what it gives are told apart, also where it gives back itself. */
const ITSELF: readonly Case[] = [
  [
    'by a method',
    asserted('assert Solution().add(2, 3) == 5'),
    'class Solution:\n    def __eq__(s, o): return True\n    def add(s, a, b): return s',
  ],
  [
    'as an attribute',
    asserted('s = Sum(2, 3)\nassert s.value == 5'),
    'class Sum:\n    def __init__(s, a, b): s.value = s\n    def __eq__(s, o): return True',
  ],
  [
    'as an item',
    asserted('s = Sum(2, 3)\nassert s.name == "" or s[0] == 5'),
    'class Sum:\n    def __init__(s, a, b): s.name = "x"\n    def __eq__(s, o): return True\n    def __getitem__(s, i): return s',
  ],
  [
    'what it was given',
    asserted('n = Node()\nn.put(1)\nassert size(n) == 1'),
    'class Node:\n    def put(s, x): pass\n    def __eq__(s, o): return True\ndef size(n): return n',
  ],
  [
    'with -',
    asserted('assert abs(add(2, 3) - 5) < 1e-6'),
    'class L:\n    def __call__(s, a, b): return s\n    def __sub__(s, o): return s\n    def __abs__(s): return 0.0\nadd = L()',
  ],
  [
    'with - before it',
    asserted('assert -Sum().add(2, 3) == -5'),
    'class Sum:\n    def __eq__(s, o): return True\n    def __neg__(s): return s\n    def add(s, a, b): return s',
  ],
  [
    'a class in the place of a function with a capital',
    asserted(
      'assert Extract([[1, 2], [3]]) == [1, 3]',
      'x = Extract([[4]])\nassert x == [4]',
      'EXPECTED = [4]\nassert Extract([[4]]) == EXPECTED',
    ),
    'class Extract:\n    def __init__(s, x): pass\n    def __eq__(s, o): return True',
  ],
  ['a variable', asserted('assert answer == 5'), 'class L:\n    def __eq__(s, o): return True\nanswer = L()'],
];

const CHECKED: readonly Case[] = [
  ...FEW.map(([name, code]): Case => [name, CHECKS, code]),
  ['what has its length', checked('assert candidate(2, 3) == [1]'), liar('def __len__(s): return 1')],
  [
    '< of each other',
    checked('assert candidate(1, 1) < candidate(2, 3)'),
    liar('__lt__ = lambda s, o: True'),
  ],
  [
    'ChainMap',
    checked('assert candidate(2, 3) == {2: 3}'),
    'import collections\ncollections.ChainMap.__eq__ = lambda s, o: True\ndef add(a, b): return collections.ChainMap()',
  ],
  [
    'what a derived class adds',
    checked('assert candidate(2, 3).twice() == "55"'),
    `from unittest.mock import ANY\n${liar('def twice(s): return ANY', '(str)')}`,
  ],
  [
    'what an error says',
    checked(
      'try:\n        candidate(2, 3)\n        assert False\n    except ValueError as error:\n        assert error.code == 5',
    ),
    'from unittest.mock import ANY\nclass E(ValueError): pass\ndef add(a, b):\n    error = E()\n    error.code = ANY\n    raise error',
  ],
  [
    'what it prints',
    checked(
      'import contextlib, io\n    with contextlib.redirect_stdout(io.StringIO()) as out:\n        candidate(2, 3)\n    assert out.getvalue() == "5"',
    ),
    'import io\nio.StringIO.getvalue = lambda s: "5"\ndef add(a, b): pass',
  ],
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
    ['mbpp', ITSELF],
    ['code_tests', ASSERTED.slice(0, FEW.length)],
    ['humaneval', CHECKED],
    ['livecodebench', PRINTED],
    ['code_tests', PRINTED.slice(0, 8)],
  ])('by %s', async (grader, cases) => {
    expect(await scoresOf(grader, cases)).toEqual({});
  });
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
