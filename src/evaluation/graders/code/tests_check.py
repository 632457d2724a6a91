"""Runs a solution against tests, inputs and outputs by the rules of LiveCodeBench's official harness.

check.py: reads a word from standard input, `solution.py` and `tests.json` from the working folder, and prints the word and
{"passed": n, "failure": null or {"test", "kind", "message"}}, the failure being the first.

tests.json: {"seconds": of a test, "stopsAtFirst", and "assertions": [statements]
or "inputs", "outputs": [texts], "functionName": name or null}
"""

import ast
import builtins
import io
import json
import numbers
import os
import signal
import sys
import time
import types
from decimal import Decimal
from fractions import Fraction

PRELUDE = """from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
from builtins import *
from typing import *
import string
import re
import datetime
import collections
import heapq
import bisect
import copy
import math
import random
import statistics
import itertools
import functools
import operator
import io
import sys
import json
sys.setrecursionlimit(50000)
"""

SHOWN = 200
# A busy machine must not change a verdict: processor time decides, and a program that waits has several times as long.
PATIENCE = 5


class TimeIsUp(BaseException):
    """Not caught by a solution's `except Exception`."""


def expire(*_):
    raise TimeIsUp()


class Clock:
    """Bounds a test. Where there are no timers (in a browser's engine) it is told afterwards."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.has_timers = hasattr(signal, "setitimer")
        try:
            signal.signal(signal.SIGPROF, expire)
            signal.signal(signal.SIGALRM, self.look)
        except (AttributeError, ValueError, OSError):
            self.has_timers = False

    def __enter__(self):
        self.start = time.process_time()
        self.began, self.starved = time.monotonic(), starved_seconds()
        self.set(self.seconds)

    def __exit__(self, *_):
        self.set(0)
        if not self.has_timers and time.process_time() - self.start > self.seconds:
            raise TimeIsUp()

    def look(self, *_):
        """Time in which the machine was busy with others does not count as waiting."""
        left = self.seconds * PATIENCE - (time.monotonic() - self.began - (starved_seconds() - self.starved))
        if left <= 0:
            raise TimeIsUp()
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.05))

    def set(self, seconds):
        if not self.has_timers:
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds * PATIENCE)


class WrongAnswer(Exception):
    pass


class Nowhere(io.TextIOBase):
    """What nobody reads takes no memory."""

    def write(self, text):
        return len(text)


def shown(value):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def without_main_guard(code):
    try:
        tree = ast.parse(code)
        last = tree.body[-1]
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == "__name__ == '__main__'":
            return ast.unparse(tree.body[:-1]) + "\n" + ast.unparse(last.body)
    except Exception:
        pass
    return code


def behind(prelude, code):
    """The code behind a prelude, its imports of `__future__` before both, where they have to stand."""
    try:
        tree = ast.parse(code)
    except Exception:
        return prelude + code
    future = [each for each in tree.body if isinstance(each, ast.ImportFrom) and each.module == "__future__"]
    if not future:
        return prelude + code
    rest = [each for each in tree.body if each not in future]
    return "\n".join([ast.unparse(future), prelude, ast.unparse(rest)])


def as_function(code):
    """The program as a function, so that every test begins with new variables. Imports stay outside."""
    try:
        tree = ast.parse(code)
    except Exception:
        return code
    is_import = lambda statement: isinstance(statement, (ast.Import, ast.ImportFrom))
    imports = [statement for statement in tree.body if is_import(statement)]
    others = [statement for statement in tree.body if not is_import(statement)] or [ast.Pass()]
    function = ast.parse("def wrapped_function():\n    pass").body[0]
    function.body = others
    return behind(PRELUDE + "\n", "\n".join([ast.unparse(imports), ast.unparse(function)]))


PLAIN = (bool, int, float, complex, Decimal, Fraction, type(None))


def is_same(found, wanted):
    """
    Python's `==` with a value of JSON, whatever an object says of itself: a class of the solution may call itself equal to everything.
    """
    if isinstance(wanted, list):
        if not isinstance(found, list) or list.__len__(found) != len(wanted):
            return False
        return all(is_same(one, other) for one, other in zip(list.__iter__(found), wanted))
    if isinstance(wanted, dict):
        if not isinstance(found, dict) or dict.__len__(found) != len(wanted):
            return False
        items = dict(dict.items(found))
        return all(key in items and is_same(items[key], value) for key, value in wanted.items())
    if isinstance(wanted, str):
        return isinstance(found, str) and str.__str__(found) == wanted
    return plain_number(found) == wanted


def plain_number(value):
    """
    A number, truth value or None of Python's own; what derives from one or counts as one (numpy's) as that number, anything else as a
    text that no number is.
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    # numpy's truth values count as no number.
    found = value.item() if type(value).__name__ in ("bool", "bool_") and hasattr(value, "item") else ""
    return found if type(found) is bool else ""


def run_module(source):
    module = types.ModuleType("tmp_sol")
    sys.modules["tmp_sol"] = module
    exec(compile(source, "solution.py", "exec"), module.__dict__)
    return module


def stream(text=""):
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="\n", write_through=True)


def output_of(function, names, text, clock):
    before = sys.stdin, sys.stdout
    sys.stdin, sys.stdout = stream(text), stream()
    output = sys.stdout
    # Names that the program's imports bound before the test; whatever it opens is its input.
    names.update(stdin=sys.stdin, stdout=output, open=lambda *_, **__: stream(text))
    try:
        with clock:
            function()
    except SystemExit:
        pass
    finally:
        sys.stdin, sys.stdout = before
    output.flush()
    return output.buffer.getvalue().decode("utf-8", "replace")


def lines_of(text):
    return [line.strip() for line in text.strip().split("\n")]


def decimals_of(line):
    try:
        return [Decimal(part) for part in line.split()]
    except Exception:
        return None


def compare_outputs(printed, expected):
    found, wanted = lines_of(printed), lines_of(expected)
    if len(found) != len(wanted):
        raise WrongAnswer(f"{len(found)} lines, expected {len(wanted)}: {shown(printed)}")
    for number, (left, right) in enumerate(zip(found, wanted)):
        if left == right:
            continue
        numbers = decimals_of(left)
        if numbers is None or numbers != decimals_of(right):
            raise WrongAnswer(f"line {number + 1} is {shown(left)}, expected {shown(right)}")


def prepare_program(code, tests):
    return prepare_as_program(code) if tests.get("asProgram") else prepare_as_function(code)


def prepare_as_program(code):
    """Every test runs it anew, as the interpreter does."""
    compiled = compile(code, "solution.py", "exec")

    def test(given, expected, clock):
        names = {}

        def program():
            module = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(PRELUDE, module.__dict__)
            module.__dict__.update(names)
            exec(compiled, module.__dict__)

        compare_outputs(output_of(program, names, given, clock), expected)

    return test


def prepare_as_function(code):
    function = run_module(as_function(without_main_guard(code))).wrapped_function

    def test(given, expected, clock):
        compare_outputs(output_of(function, function.__globals__, given, clock), expected)

    return test


def prepare_assertions(code):
    module = run_module(code)

    def test(statements, _, clock):
        results = OwnComparisons()
        tested = {name: results.watched(value) for name, value in list(module.__dict__.items())}
        with clock:
            exec(compile(statements, "test.py", "exec"), tested)
        if results.found:
            raise WrongAnswer("a result is of a class that says itself what it is equal to")

    return test


def prepare(code, tests):
    if "assertions" in tests:
        return prepare_assertions(code)
    return prepare_function(code, tests["functionName"]) if tests["functionName"] else prepare_program(code, tests)


def prepare_function(code, name):
    module = run_module(behind(PRELUDE + "\n\n", code))
    holder = module.Solution() if "class Solution" in code else module
    function = getattr(holder, name)

    def test(given, expected, clock):
        arguments = [json.loads(line) for line in given.split("\n")]
        wanted = json.loads(expected)
        with clock:
            found = function(*arguments)
        # Sequences of the expected values are never tuples.
        if isinstance(found, tuple):
            found = list(found)
        if not is_same(found, wanted):
            raise WrongAnswer(f"{shown(found)}, expected {shown(wanted)}")

    return test


def remove(name):
    try:
        os.remove(name)
    except OSError:
        pass  # A folder that takes no changes


def failure(number, kind, message):
    return {"test": number, "kind": kind, "message": message}


def outcome(number, run, seconds):
    """None where the test passes."""
    try:
        run()
    except TimeIsUp:
        return failure(number, "time", f"took more than {seconds} s")
    except WrongAnswer as error:
        return failure(number, "wrong", str(error))
    except MemoryError:
        return failure(number, "memory", "took more memory than there is")
    except BaseException as error:
        return failure(number, "error", f"{type(error).__name__}: {shown(str(error))}")
    return None


def judge(code, tests):
    clock = Clock(tests["seconds"])
    try:
        with clock:
            test = prepare(code, tests)
    except TimeIsUp:
        return 0, failure(0, "time", "not ready in time")
    except BaseException as error:
        return 0, failure(0, "compile", f"{type(error).__name__}: {shown(str(error))}")
    given = tests.get("assertions") or tests["inputs"]
    expected = tests.get("outputs") or [None] * len(given)
    passed, first = 0, None
    for number, pair in enumerate(zip(given, expected)):
        problem = outcome(number, lambda: test(*pair, clock), tests["seconds"])
        passed += problem is None
        first = first or problem
        if first and tests["stopsAtFirst"]:
            break
    return passed, first


def main():
    word = sys.stdin.readline().strip()
    with open("solution.py", encoding="utf-8") as file:
        code = file.read()
    with open("tests.json", encoding="utf-8") as file:
        tests = json.load(file)
    # What is tested has no business with either.
    for name in ("solution.py", "tests.json"):
        remove(name)
    sys.set_int_max_str_digits(50000)
    # Without the module `site` they are not there.
    builtins.exit = builtins.quit = sys.exit
    out, sys.stdout = sys.stdout, Nowhere()
    passed, problem = judge(code, tests)
    out.write(word + json.dumps({"passed": passed, "failure": problem}))
    out.flush()


main()
