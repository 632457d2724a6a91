"""Runs Python programs inside Pyodide for the sandbox: a question and its answer are JSON.

Question: {"files": {path: base64}, "argv": [...], "stdin": text, "env": {...}, "outputBytes": n, "silence": {...} where lines are told}
      or  {"read": path}
Answer:   {"exitCode", "stdout", "stderr", "isStdoutCut", "isStderrCut"}, or {"content": base64} / {"content": null}
"""

import base64
import builtins
import io
import json
import os
import sys
import traceback
import types

WORK = "/work"
PYTHON_NAMES = ("python", "python3")
FLAGS = ("-I", "-S", "-B", "-E", "-s", "-u")
FLOOD = 16


class OutputFlood(BaseException):
    """More output than a program may make; not caught by a program's `except Exception`."""


def tell_line():
    """To the watch of this process."""
    try:
        os.write(1, b"\n")
    except OSError:
        pass  # The program has closed it.


class BoundedOutput(io.RawIOBase):
    def __init__(self, limit, tells_lines=False):
        self.limit = limit
        self.tells_lines = tells_lines
        self.kept = bytearray()
        self.total = 0

    def writable(self):
        return True

    def write(self, data):
        chunk = bytes(data)
        self.total += len(chunk)
        if self.tells_lines and b"\n" in chunk:
            tell_line()
        room = self.limit - len(self.kept)
        if room > 0:
            self.kept += chunk[:room]
        if self.total > self.limit * FLOOD:
            raise OutputFlood()
        return len(chunk)

    @property
    def is_cut(self):
        return self.total > len(self.kept)

    @property
    def text(self):
        return self.kept.decode("utf-8", "ignore" if self.is_cut else "replace")


def text_stream(raw):
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)


def inside(path):
    return os.path.join(WORK, path)


def place(files):
    for path, content in files.items():
        os.makedirs(os.path.dirname(inside(path)), exist_ok=True)
        with open(inside(path), "wb") as file:
            file.write(base64.b64decode(content))


def load(argv):
    """Source, its name and sys.argv; None where there is no such program here."""
    rest = [part for part in argv[1:]]
    if not argv or os.path.basename(argv[0]) not in PYTHON_NAMES:
        return None
    while rest and rest[0] in FLAGS:
        rest.pop(0)
    if len(rest) >= 2 and rest[0] == "-c":
        return rest[1], "<string>", ["-c", *rest[2:]]
    if rest and not rest[0].startswith("-"):
        with open(inside(rest[0]), encoding="utf-8") as file:
            return file.read(), rest[0], rest
    return None


def exit_code_of(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def run(argv):
    try:
        found = load(argv)
    except OSError as error:
        print(f"{argv[0]}: can't open file: {error}", file=sys.stderr)
        return 2
    if found is None:
        print(f"{argv[0] if argv else ''}: only python3 programs run here", file=sys.stderr)
        return 127
    source, name, sys.argv = found
    module = types.ModuleType("__main__")
    module.__file__ = name
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    try:
        exec(compile(source, name, "exec"), module.__dict__)
        return 0
    except SystemExit as end:
        return exit_code_of(end.code)
    except OutputFlood:
        raise
    except BaseException as error:
        # Without the frames of this file.
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error)
        return 1


def draw_anew():
    """The interpreter's memory is that of an image: without this, two programs would draw the same numbers."""
    random = sys.modules.get("random")
    if random is not None:
        random.seed()


def execute(question):
    draw_anew()
    place(question["files"])
    size = question["outputBytes"]
    outputs = [BoundedOutput(size, tells_lines="silence" in question), BoundedOutput(size)]
    before = sys.stdin, sys.stdout, sys.stderr, list(sys.path), sys.modules["__main__"]
    sys.stdin = text_stream(io.BytesIO(question["stdin"].encode()))
    sys.stdout, sys.stderr = (text_stream(output) for output in outputs)
    os.environ.clear()
    os.environ.update({"PATH": "/usr/bin:/bin", "HOME": "/tmp", **question["env"]})
    sys.path.insert(0, WORK)
    os.chdir(WORK)
    limit = None
    try:
        exit_code = run(question["argv"])
    except OutputFlood:
        exit_code, limit = None, "output"
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.path[:], sys.modules["__main__"] = before
    return {
        "exitCode": exit_code,
        "limit": limit,
        "stdout": outputs[0].text,
        "stderr": outputs[1].text,
        "isStdoutCut": outputs[0].is_cut,
        "isStderrCut": outputs[1].is_cut,
    }


def read(path):
    place_of_it = os.path.realpath(inside(path))
    if not place_of_it.startswith(WORK + "/") or not os.path.isfile(place_of_it):
        return {"content": None}
    with open(place_of_it, "rb") as file:
        return {"content": base64.b64encode(file.read()).decode()}


def answer(text):
    question = json.loads(text)
    os.makedirs(WORK, exist_ok=True)
    return json.dumps(read(question["read"]) if "read" in question else execute(question))
