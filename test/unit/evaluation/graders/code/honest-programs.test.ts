import { findRowGrader } from '../../../../../src/evaluation/graders/find-row-grader';
import type { Row } from '../../../../../src/evaluation/graders/row-grader';
import { processSandboxes } from '../../../../../src/sandboxes/process-sandboxes';

afterAll(() => processSandboxes.close());

type Case = readonly [name: string, row: Row, code: string];

const asserted = (...tests: string[]): Row => ({ test_list: tests });
const SUM = {
  input_output: JSON.stringify({ inputs: ['2 3\n', '-1 11\n'], outputs: ['5\n', '10\n'] }),
};

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
    'what gives back itself',
    asserted(
      'b = Bag().add(1).add(2)\nassert b.items == [1, 2] and len(b) == 2 and b == Bag().add(1).add(2)',
      'b = Bag()\nassert b.add(1) is b and 1 in b and 2 not in b',
      'a, b = Bag(), Bag()\nassert pick(a, b) is b and pick(a, b) is not a and pick(a, b) in [b]',
      'with Bag() as b:\n    assert b == Bag()',
    ),
    'class Bag:\n    def __init__(s): s.items = []\n    def add(s, x):\n        s.items.append(x)\n        return s\n    def __len__(s): return len(s.items)\n    def __contains__(s, x): return x in s.items\n    def __eq__(s, o): return s.items == o.items\n    def __enter__(s): return s\n    def __exit__(s, *a): pass\ndef pick(a, b): return b',
  ],
  [
    'a function with a capital',
    asserted('assert Extract([[1, 2], [3]]) == [1, 3]'),
    'def Extract(x): return [y[0] for y in x]',
  ],
  [
    'a class that equals values',
    asserted('v = V(1)\nassert v.x == 1 and v == 1 and V(1) == 1'),
    'class V:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return s.x == o',
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
  [
    'length, numbers and items of its own',
    asserted(
      'assert len(f([1, 2])) == 2 and float(f([4])) == 4.0 and int(f([4])) == 4',
      'assert f([3])[0] == 3 and [*f([1, 2])] == [1, 2]',
    ),
    'class Bag:\n    def __init__(s, x): s.x = x\n    def __len__(s): return len(s.x)\n    def __float__(s): return float(s.x[0])\n    def __int__(s): return s.x[0]\n    def __getitem__(s, i): return s.x[i]\n    def __iter__(s): return iter(s.x)\ndef f(x): return Bag(x)',
  ],
  [
    'values of Python’s library',
    asserted(
      'assert chain() == {"a": 1, "b": 2}',
      'import types\nassert space(1) == types.SimpleNamespace(x=1) and vars(space(1)) == {"x": 1}',
      'assert view({"a": 1}) == {"a": 1}',
      'assert memory(b"ab") == b"ab" and len(memory(b"ab")) == 2',
      'assert text("ab") == "ab"',
      'import ipaddress\nassert address("::1") == ipaddress.ip_address("::1")',
    ),
    'import collections, ipaddress, types\ndef chain(): return collections.ChainMap({"a": 1}, {"b": 2})\ndef space(x): return types.SimpleNamespace(x=x)\ndef view(d): return types.MappingProxyType(d)\ndef memory(b): return memoryview(b)\ndef text(s): return collections.UserString(s)\ndef address(s): return ipaddress.ip_address(s)',
  ],
  [
    'what a class adds to the value it derives from',
    asserted(
      'assert level(2) == 2 and level(2).name == "HIGH" and level(1) < level(2) and level(1) is Level.LOW',
      'assert point(1) == (1, 2) and point(1).total() == 3 and point(1)._replace(y=5) == (1, 5)',
      'assert own()["z"] == 0 and own().a == 1 and own() == {"a": 1}',
      'assert items([1]).first() == 1 and items([1]) == [1]',
    ),
    'from enum import IntEnum\nfrom typing import NamedTuple\nclass Level(IntEnum):\n    LOW = 1\n    HIGH = 2\ndef level(n): return Level(n)\nclass Point(NamedTuple):\n    x: int\n    y: int = 2\n    def total(self): return self.x + self.y\ndef point(x): return Point(x)\nclass Own(dict):\n    def __missing__(s, k): return 0\n    def __getattr__(s, k): return s[k]\ndef own(): return Own(a=1)\nclass Items(list):\n    def first(s): return s[0]\ndef items(x): return Items(x)',
  ],
  [
    'a class under test that derives from a dictionary',
    asserted(
      'c = Cache(1)\nc.put(1, 2)\nc.put(3, 4)\nassert c.get(1) == -1 and c.get(3) == 4 and len(c) == 1',
    ),
    'from collections import OrderedDict\nclass Cache(OrderedDict):\n    def __init__(s, n):\n        super().__init__()\n        s.n = n\n    def get(s, k): return s[k] if k in s else -1\n    def put(s, k, v):\n        s[k] = v\n        if len(s) > s.n: s.popitem(last=False)',
  ],
  [
    'a class with a small letter',
    asserted(
      's = stack()\ns.push(1)\nassert len(s) == 1 and 1 in s',
      'a, b = version("1.2"), version("1.10")\nassert a < b and sorted([b, a])[0] == version("1.2")',
    ),
    'class stack:\n    def __init__(s): s.x = []\n    def push(s, v): s.x.append(v)\n    def __len__(s): return len(s.x)\n    def __contains__(s, v): return v in s.x\nclass version:\n    def __init__(s, t): s.t = tuple(map(int, t.split(".")))\n    def __lt__(s, o): return s.t < o.t\n    def __eq__(s, o): return s.t == o.t',
  ],
  [
    'objects in the order of their fields',
    asserted('assert f(1) < f(2) and sorted([f(2), f(1)])[0] == f(1)'),
    'from dataclasses import dataclass\n@dataclass(order=True)\nclass P:\n    x: int\ndef f(x): return P(x)',
  ],
  [
    'what operators of a class under test give',
    asserted('assert V(1) + V(2) == (3,) and V(0) < V(1) + V(1) and len(2 * V(1)) == 1'),
    'class V(tuple):\n    def __new__(c, *x): return tuple.__new__(c, x)\n    def __add__(s, o): return V(*(a + b for a, b in zip(s, o)))\n    def __rmul__(s, k): return V(*(k * a for a in s))',
  ],
  [
    'errors with fields, of classes that derive from each other, and Python’s',
    asserted(
      'try:\n    f(1)\n    assert False\nexcept Base as e:\n    assert e.code == 7 and str(e) == "code 7"',
      'import json\ntry:\n    f("{")\n    assert False\nexcept json.JSONDecodeError as e:\n    assert e.pos == 1',
    ),
    'import json\nclass Base(Exception): pass\nclass Bad(Base):\n    def __init__(s, code): s.code = code\n    def __str__(s): return f"code {s.code}"\ndef f(x):\n    if x == 1: raise Bad(7)\n    return json.loads(x)',
  ],
  [
    'what it prints',
    asserted(
      'import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    f("hi")\nassert out.getvalue() == "hi\\n"',
      'import io, sys\nbefore, sys.stdout = sys.stdout, io.StringIO()\nf("a")\nfound, sys.stdout = sys.stdout.getvalue(), before\nassert found == "a\\n"',
    ),
    'def f(x): print(x)',
  ],
  [
    'changes in place of other collections, by name and of objects',
    asserted(
      'from collections import deque\nq = deque([2, 1])\nf(q)\nassert q == deque([2, 1, 3])',
      'from collections import Counter\nc = Counter("a")\ncount(c)\nassert c["a"] == 2 and type(c) is Counter',
      'x = [2]\nf(x=x)\nassert x == [2, 3]',
      'x = [N(2), N(1)]\norder(x)\nassert [each.v for each in x] == [1, 2]',
    ),
    'class N:\n    def __init__(s, v): s.v = v\ndef f(x): x.append(3)\ndef count(c): c["a"] += 1\ndef order(x): x.sort(key=lambda n: n.v)',
  ],
  [
    'copies, and what stands in its own documentation',
    asserted(
      'import copy\nassert copy.deepcopy(f()).v == [1] and copy.copy(f()).v == [1]',
      'assert f.__doc__ == "Make."',
    ),
    'class N:\n    def __init__(s): s.v = [1]\ndef f():\n    "Make."\n    return N()',
  ],
];

test('an honest program scores 1, whatever it returns', async () => {
  const judged = HONEST.map(async ([name, row, code]) => ({
    name,
    score: await findRowGrader('code_tests').grade(`\`\`\`python\n${code}\n\`\`\``, row),
  }));

  expect((await Promise.all(judged)).filter(({ score }) => score.value !== 1)).toEqual([]);
});
