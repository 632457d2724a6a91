"""Prints the pairs that the tests of math-verify compare, one a line, from its source distribution:

    pip download math-verify==0.9.0 --no-binary :all: --no-deps --dest FOLDER
    python3 bench/math-verify-pairs.py FOLDER/math_verify-0.9.0.tar.gz > pairs.jsonl

A line is {"gold", "answer", "expected", "test", "options"}; `options` are what a row of a test asks with beyond its defaults.
The tables of the tests are read and the tests not run; only numbers that a table formats are calculated. They are under the Apache License 2.0 and are not kept here.
"""

import ast
import json
import math
import sys
import tarfile


class Formatted(ast.NodeTransformer):
    """Of f"{math.sqrt(17):.15f}" the text."""

    def visit_JoinedStr(self, node):
        expression = ast.fix_missing_locations(ast.Expression(node))
        return ast.Constant(eval(compile(expression, "table", "eval"), {"__builtins__": {}, "math": math}))


def tables(tree):
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize":
                yield function.name, *decorator.args


def pairs(source):
    for test, names, rows in tables(ast.parse(source)):
        columns = [name.strip() for name in ast.literal_eval(names).split(",")]
        columns = ["expected" if name == "result" else name for name in columns]
        if not {"gold", "pred", "expected"} <= set(columns):
            continue
        for row in ast.literal_eval(Formatted().visit(rows)):
            cells = dict(zip(columns, row))
            yield {
                "gold": cells.pop("gold"),
                "answer": cells.pop("pred"),
                "expected": bool(cells.pop("expected")),
                "test": test,
                "options": cells,
            }


def main(path):
    with tarfile.open(path) as archive:
        members = [member for member in archive if "/tests/" in member.name and member.name.endswith(".py")]
        for member in sorted(members, key=lambda each: each.name):
            for pair in pairs(archive.extractfile(member).read().decode()):
                print(json.dumps(pair))


if __name__ == "__main__":
    main(*sys.argv[1:])
