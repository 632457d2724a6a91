"""Prints the pairs that the tests of math-verify compare, one a line, from its source distribution:

    pip download math-verify==0.9.0 --no-binary :all: --no-deps --dest FOLDER
    python3 bench/math-verify-pairs.py FOLDER/math_verify-0.9.0.tar.gz > pairs.jsonl

A line is {"gold", "answer", "expected", "test", "options"}; `options` are what a row of a test asks with beyond its defaults.
The tests are read, not run. They are under the Apache License 2.0 and are not kept here.
"""

import ast
import json
import sys
import tarfile

COLUMNS = {"gold", "pred", "expected"}


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
        if not COLUMNS <= set(columns):
            continue
        for row in ast.literal_eval(rows):
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
