import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Lease } from '../../../../src/sandboxes/leases/leases';
import { Leases } from '../../../../src/sandboxes/leases/leases';
import { PyodideInterpreter } from '../../../../src/sandboxes/pyodide/pyodide-interpreter';
import { DEFAULT_LIMITS } from '../../../../src/sandboxes/sandbox';
import { ENDING, expectToEnd, REACH, runIn } from './interpreter-programs';

/** Everything a program can see that another one could have changed. */
const LOOK = `
import builtins, codecs, contextvars, copyreg, decimal, gc, hashlib, json, locale, os, random, signal, sys, threading, time, warnings, zlib

def files():
    for folder, folders, names in os.walk("/"):
        for name in folders + names:
            place = os.path.join(folder, name)
            if place.startswith(("/proc", "/dev")) or place == "/work/look.py":
                continue
            state = os.lstat(place)
            digest = zlib.crc32(open(place, "rb").read()) if name in names and os.path.isfile(place) else None
            yield [place, state.st_mode, state.st_size, state.st_ino, digest]

def removable():
    try:
        os.rmdir("/tmp")
        return True
    except OSError as error:
        return str(error)

def handler(name):
    try:
        return str(codecs.lookup_error(name))
    except LookupError:
        return None

def descriptors():
    for number in range(64):
        try:
            yield [number, os.fstat(number).st_mode, os.get_inheritable(number)]
        except OSError:
            pass

seen = {
    "modules": sorted(sys.modules),
    "builtins": {name: repr(value) for name, value in sorted(vars(builtins).items()) if name != "_"},
    "files": sorted(files()),
    "descriptors": list(descriptors()),
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "paths": [sys.path, list(map(str, sys.meta_path)), sys.argv],
    "recursion": sys.getrecursionlimit(),
    "collector": [gc.isenabled(), gc.get_threshold(), len(gc.get_objects()), len(gc.garbage), gc.get_freeze_count(), len(gc.callbacks)],
    "limits": [sys.get_int_max_str_digits(), sys.getswitchinterval(), sys.get_coroutine_origin_tracking_depth(), sys.intern("word") is "wo" + "rd"],
    "registered": [handler("left"), len(copyreg.dispatch_table), len(contextvars.copy_context()), str(sys.getprofile()), sys.dont_write_bytecode],
    "types": [len(object.__subclasses__()), len(Exception.__subclasses__()), type.__flags__],
    "numbers": [1 + 1, len(str(256)), [].__class__.__name__, (257).__repr__()],
    "signals": [str(signal.getsignal(number)) for number in range(1, 32)],
    "warnings": list(map(str, warnings.filters)),
    "decimal": str(decimal.getcontext()),
    "zone": time.tzname,
    "mask": [os.umask(0), os.umask(0o022)],
    "hooks": [str(sys.gettrace()), str(sys.excepthook), str(threading.excepthook), sys.flags.hash_randomization],
    "addresses": [id(object()), id([1]), hash("word")],
    "input": os.read(0, 100).decode(),
    "locale": locale.setlocale(locale.LC_ALL),
    "threads": threading.active_count(),
    "removable": removable(),
}
print(json.dumps(seen))
`;

const PUT_BACK = {
  nothing: 'pass',
  'builtins, modules and hooks':
    'import atexit, builtins, json, sys, threading\nbuiltins.print = None\njson.dumps = None\nsys.modules["math"] = None\nsys.setrecursionlimit(77)\nsys.settrace(lambda *a: None)\nsys.excepthook = print\natexit.register(lambda: 1 / 0)\nsys.meta_path.clear()\nsys.path.clear()',
  'settings of the interpreter':
    'import decimal, gc, os, signal, time, warnings\ngc.disable()\ngc.set_threshold(3)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwarnings.simplefilter("error")\ndecimal.getcontext().prec = 3\nos.environ["TZ"] = "Asia/Tokyo"\ntime.tzset()\nos.umask(0o777)',
  'files everywhere':
    'import os\nfor place in ["/lib/a", "/tmp/b", "/work/c", "/d", "/home/pyodide/e"]:\n    open(place, "w").write("x" * 5000)\nos.symlink("/lib", "/work/link")\nos.mkdir("/new")\nos.chdir("/new")\nos.chmod("/tmp", 0)\nos.rename("/home/pyodide", "/home/other")\nos.utime("/lib", (1, 1))\nfor name in os.listdir("/lib"):\n    if name.endswith(".zip"): os.truncate("/lib/" + name, 10)',
  'descriptors left open and closed':
    'import os\nfor _ in range(20): os.open("/tmp/x", os.O_CREAT | os.O_RDWR)\nos.dup(3)\nfor number in range(3): os.close(number)',
  'output without an end and an exception':
    'import os\nos.write(1, b"half a line")\nos.write(2, b"half")\nclass Late:\n    def __del__(self): open("/tmp/late", "w")\nkept = Late()\nraise ValueError("x")',
  'files called as JavaScript calls what all objects have':
    'import os\nfor name in ["__proto__", "constructor", "hasOwnProperty", "toString", "length", "0"]:\n    for place in ["/tmp", "/work", "/"]:\n        open(os.path.join(place, name), "w").write("x")',
  'files of one write each':
    'import os\nfor index in range(20):\n    os.write(os.open(f"/tmp/{index}", os.O_CREAT | os.O_WRONLY), b"x" * 100000)',
  'devices written to and read':
    'import os\nfor place in ["/dev/tty", "/dev/tty1", "/dev/stdout", "/dev/stdin", "/dev/urandom"]:\n    try:\n        descriptor = os.open(place, os.O_RDWR)\n        os.write(descriptor, b"left")\n        os.read(descriptor, 3)\n    except OSError: pass',
  'registrations that outlive their function':
    'import codecs, contextvars, copyreg, gc, random, sys, weakref\ncodecs.register_error("left", print)\ncodecs.register(lambda name: None)\ncopyreg.pickle(complex, repr)\nkept = contextvars.ContextVar("kept"); kept.set(1)\ngc.callbacks.append(lambda *a: None)\ngc.freeze()\nsys.addaudithook(lambda *a: None)\nsys.setprofile(lambda *a: None)\nsys.set_int_max_str_digits(1000)\nsys.setswitchinterval(1)\nrandom.seed(0)\nclass Left(Exception): pass\nweakref.finalize(Left, print)',
  'objects that all programs share written over':
    'import ast, sys\ncode = sys._getframe(1).f_globals\ncode["execute"] = code["answer"] = None\ndel code["json"], code["run"]',
  'deep recursion': 'def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: pass',
  'some memory': 'x = [bytes([1]) * 1_000_000 for _ in range(30)]',
  'cycles of objects':
    'class A: pass\nkept = []\nfor _ in range(20000):\n    a = A(); a.a = a; kept.append(a)',
};

const MADE_NEW = {
  'a recursion beyond its stack':
    'import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: pass',
  'much memory': 'x = [bytes([1]) * 1_000_000 for _ in range(150)]',
};

/** One of each way in which this is found out, and what is worst; test/deep has all. */
const TELLING = [
  'foreign functions',
  'objects of JavaScript',
  'a task left in the event loop',
  'an abort',
] as const;

const current: { interpreter: PyodideInterpreter | null } = { interpreter: null };
let folder: string;
let lease: Lease;
let fresh: unknown;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'renewal-'));
  lease = await new Leases(folder).open();
  await renewOrStart();
  fresh = await look();
});

/** Each test finds an interpreter that knows of no program. */
beforeEach(renewOrStart);

afterAll(async () => {
  current.interpreter?.kill();
  await lease.release();
  rmSync(folder, { recursive: true, force: true });
});

async function renewOrStart(): Promise<void> {
  const isAsNew = current.interpreter?.isAlive && (await current.interpreter.renew()) !== null;
  if (!isAsNew) current.interpreter = await PyodideInterpreter.start(lease, DEFAULT_LIMITS);
}

function interpreter(): PyodideInterpreter {
  if (!current.interpreter) throw new Error('An interpreter is there only during a test.');
  return current.interpreter;
}

const run = (source: string) => runIn(interpreter(), source);

async function look(): Promise<unknown> {
  const { stdout, stderr } = await run(LOOK);
  if (stderr !== '') throw new Error(String(stderr));
  return JSON.parse(String(stdout));
}

test.each(Object.entries(PUT_BACK))(
  'an interpreter is put back after a program with %s',
  async (_, source) => {
    await run(source);

    expect(await interpreter().renew()).toBe('put-back');
    expect(await look()).toEqual(fresh);
  },
);

test.each(Object.entries(MADE_NEW))(
  'an interpreter is made new after a program with %s',
  async (_, source) => {
    await run(source);

    expect(await interpreter().renew()).toBe('new');
    expect(await look()).toEqual(fresh);
  },
);

test.each(TELLING)('a process ends after a program with %s', async (name) => {
  await expectToEnd(interpreter(), ENDING[name]);
});

test('programs that draw numbers draw others, and words hash the same', async () => {
  const source =
    'import os, random, secrets, uuid\nprint(random.random(), secrets.token_hex(), uuid.uuid4(), os.urandom(4).hex(), hash("word"))';
  const first = String((await run(source))['stdout']).split(' ');
  await renewOrStart();
  const second = String((await run(source))['stdout']).split(' ');

  for (const index of [0, 1, 2, 3]) expect(first[index]).not.toBe(second[index]);
  expect(first[4]).toBe(second[4]);
});

test('a program does not read the questions of its process', async () => {
  const source = `import os
print(os.read(0, 100))
for place in ("/dev/stdin", "/dev/tty", "/dev/tty1"):
    try:
        print(os.read(os.open(place, os.O_RDONLY), 100))
    except OSError:
        print(b"")`;
  const { stdout } = await run(source);

  expect(stdout).toBe("b''\nb''\nb''\nb''\n");
});

test("what a program writes by the engine's own functions is nobody's answer", async () => {
  const forged = '{"exitCode":0,"stdout":"forged","stderr":""}';
  const { stdout } = await run(`import ctypes
library = ctypes.CDLL(None)
for name in ("emscripten_console_log", "emscripten_console_error", "emscripten_out", "emscripten_err"):
    for line in (${JSON.stringify(forged)}, ${JSON.stringify('{"ready":true,"isPutBack":true}')}):
        library[name](line.encode())
print("own")`);

  expect(stdout).toBe('own\n');
  expect(await interpreter().renew()).toBeNull();
});

test('errors of the engine name no place of this machine', async () => {
  const { stdout } = await run(
    `${REACH}from pyodide.ffi import JsException\ntry: Array.constructor("return 1")()\nexcept JsException as error: print(error, error.stack)`,
  );

  expect(stdout).toContain('EvalError');
  expect(stdout).not.toMatch(/file:|\.mjs|node_modules/);
});
