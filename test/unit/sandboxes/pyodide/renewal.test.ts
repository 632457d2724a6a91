import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leases } from '../../../../src/sandboxes/leases/leases';
import { PyodideInterpreter } from '../../../../src/sandboxes/pyodide/pyodide-interpreter';
import { DEFAULT_LIMITS } from '../../../../src/sandboxes/sandbox';

jest.setTimeout(180_000);

/** Everything a program can see that another one could have changed. */
const LOOK = `
import builtins, ctypes.util, decimal, gc, hashlib, json, locale, os, signal, socket, sys, threading, time, warnings, zlib

def files():
    for folder, folders, names in os.walk("/"):
        for name in folders + names:
            place = os.path.join(folder, name)
            if place.startswith(("/proc", "/dev")) or place == "/work/look.py":
                continue
            state = os.lstat(place)
            digest = zlib.crc32(open(place, "rb").read()) if name in names and os.path.isfile(place) else None
            yield [place, state.st_mode, state.st_size, state.st_ino, digest]

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
    "collector": [gc.isenabled(), gc.get_threshold(), len(gc.get_objects()), len(gc.garbage)],
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
  'deep recursion': 'def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: pass',
  'some memory': 'x = [bytes([1]) * 1_000_000 for _ in range(30)]',
  'cycles of objects':
    'class A: pass\nkept = []\nfor _ in range(20000):\n    a = A(); a.a = a; kept.append(a)',
};

const MADE_NEW = {
  'a recursion beyond its stack':
    'import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: pass',
  'much memory': 'x = [bytes([1]) * 1_000_000 for _ in range(150)]',
  'foreign functions':
    'import ctypes\nctypes.CDLL(None).getpid()\nctypes.memset(ctypes.addressof(ctypes.create_string_buffer(10)), 1, 10)',
  pipes: 'import os\nos.write(os.pipe()[1], b"left")',
  sockets: 'import socket\ntry: socket.socket().bind(("127.0.0.1", 8099))\nexcept OSError: pass',
  'objects of JavaScript':
    'from pyodide.ffi import create_proxy, to_js\nkept = [create_proxy(lambda: 1), to_js({"a": [1]})]',
};

let interpreter: PyodideInterpreter;
let folder: string;
let fresh: unknown;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'renewal-'));
  interpreter = await PyodideInterpreter.start(await new Leases(folder).open(), DEFAULT_LIMITS);
  fresh = await look();
  await interpreter.renew();
});

afterAll(() => {
  interpreter.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function run(source: string): Promise<Readonly<Record<string, unknown>>> {
  const files = { 'look.py': Buffer.from(source).toString('base64') };
  const question = { files, argv: ['python3', 'look.py'], stdin: '', env: {}, outputBytes: 10_000_000 };
  const text = JSON.stringify({ ...question, cpuMs: 60_000 });
  return JSON.parse(
    (await interpreter.ask({ text, timeoutMs: 60_000, signal: undefined })) ?? '{}',
  ) as Readonly<Record<string, unknown>>;
}

async function look(): Promise<unknown> {
  const { stdout, stderr } = await run(LOOK);
  if (stderr !== '') throw new Error(String(stderr));
  return JSON.parse(String(stdout));
}

test.each(Object.entries(PUT_BACK))(
  'an interpreter is put back after a program with %s',
  async (_, source) => {
    await run(source);

    expect(await interpreter.renew()).toBe('put-back');
    expect(await look()).toEqual(fresh);
    // Looking opens libraries of its own.
    await interpreter.renew();
  },
);

test.each(Object.entries(MADE_NEW))(
  'an interpreter is made new after a program with %s',
  async (_, source) => {
    await run(source);

    expect(await interpreter.renew()).toBe('new');
    expect(await look()).toEqual(fresh);
    await interpreter.renew();
  },
);

test('programs that draw numbers draw others, and words hash the same', async () => {
  const source =
    'import os, random, secrets, uuid\nprint(random.random(), secrets.token_hex(), uuid.uuid4(), os.urandom(4).hex(), hash("word"))';
  const first = String((await run(source))['stdout']).split(' ');
  await interpreter.renew();
  const second = String((await run(source))['stdout']).split(' ');
  await interpreter.renew();

  for (const index of [0, 1, 2, 3]) expect(first[index]).not.toBe(second[index]);
  expect(first[4]).toBe(second[4]);
});

test('a program does not read the questions of its process', async () => {
  const { stdout } = await run('import os\nprint(os.read(0, 100))');
  await interpreter.renew();

  expect(stdout).toBe("b''\n");
});
