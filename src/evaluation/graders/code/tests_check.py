"""Runs a solution on tests or inputs by the rules of LiveCodeBench's official harness, and tells what it gave. tests_judge.py judges that.

check.py: reads a word from standard input, `solution.py` and `tests.json` from the working folder, and prints the word and, as soon as
it is done, one line of JSON for each test that was run, then {"kinds": of the objects that are told by number}; of a test it is
{"failure": {"kind", "message"}}, {"printed": text}, {"found": value as it is told}, or {"exports", "entries"} of assertions that held.

tests.json: {"seconds": of a test, "stopsAtFirst", and "assertions": [statements], "names": those that are asked for or null
or "inputs": [texts], "functionName": name or null}
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


def prepare_program(code, tests):
    return prepare_as_program(code) if tests.get("asProgram") else prepare_as_function(code)


def prepare_as_program(code):
    """Every test runs it anew, as the interpreter does."""
    compiled = compile(code, "solution.py", "exec")

    def test(given, clock):
        names = {}

        def program():
            module = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(PRELUDE, module.__dict__)
            module.__dict__.update(names)
            exec(compiled, module.__dict__)

        return {"printed": output_of(program, names, given, clock)}

    return test


def prepare_as_function(code):
    function = run_module(as_function(without_main_guard(code))).wrapped_function

    def test(given, clock):
        return {"printed": output_of(function, function.__globals__, given, clock)}

    return test


def prepare_assertions(code, names, record):
    module = run_module(code)

    def test(statements, clock):
        exports, tested = record.begin(module.__dict__, names or used_in(statements), statements)
        with clock:
            run_tests(statements, "test.py", tested)
        return record.told(exports)

    return test


def prepare(code, tests, record):
    if "assertions" in tests:
        return prepare_assertions(code, tests["names"], record)
    return prepare_function(code, tests["functionName"]) if tests["functionName"] else prepare_program(code, tests)


def prepare_function(code, name):
    module = run_module(behind(PRELUDE + "\n\n", code))
    holder = module.Solution() if "class Solution" in code else module
    function = getattr(holder, name)

    def test(given, clock):
        arguments = [json.loads(line) for line in given.split("\n")]
        with clock:
            found = function(*arguments)
        # Sequences of the expected values are never tuples.
        return {"found": encode(list(found) if type(found) is tuple else found, Numbers())}

    return test


class Numbers:
    """What is told of results: numbers of other libraries (numpy's) as what they are, anything else as nothing that can be compared."""

    def number_of(self, value):
        if isinstance(value, numbers.Integral):
            return told_number(int(value))
        if isinstance(value, numbers.Real):
            return told_float(float(value))
        # numpy's truth values count as no number.
        found = value.item() if type(value).__name__ in ("bool", "bool_") and hasattr(value, "item") else None
        return found if type(found) is bool else {"object": 0}


def remove(name):
    try:
        os.remove(name)
    except OSError:
        pass  # A folder that takes no changes


def failure(kind, message):
    return {"failure": {"kind": kind, "message": message}}


def record_of(run, seconds):
    try:
        return run()
    except TimeIsUp:
        return failure("time", f"took more than {seconds} s")
    except MemoryError:
        return failure("memory", "took more memory than there is")
    except BaseException as error:
        return failure("error", f"{type(error).__name__}: {shown(str(error))}")


def records_of(code, tests, record):
    clock = Clock(tests["seconds"])
    try:
        with clock:
            test = prepare(code, tests, record)
    except TimeIsUp:
        yield failure("time", "not ready in time")
        return
    except BaseException as error:
        yield failure("compile", f"{type(error).__name__}: {shown(str(error))}")
        return
    for given in tests.get("assertions") or tests["inputs"]:
        found = record_of(lambda: test(given, clock), tests["seconds"])
        yield found
        if "failure" in found and tests["stopsAtFirst"]:
            break


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
    record = Record(chance_of(tests.get("assertions", []), word))
    out.write(word)
    for each in records_of(code, tests, record):
        out.write(json.dumps(each) + "\n")
        # Whoever reads this ends a program of which nothing comes.
        out.flush()
    out.write(json.dumps({"kinds": record.kinds}))
    out.flush()


main()
