import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BubblewrapKind } from '../../src/sandboxes/bubblewrap/bubblewrap-kind';
import { findTools } from '../../src/sandboxes/bubblewrap/find-tools';
import { PyodideKind } from '../../src/sandboxes/pyodide/pyodide-kind';
import { Leases } from '../../src/sandboxes/leases/leases';
import type { ExecOptions, Sandbox, SandboxKind } from '../../src/sandboxes/sandbox';
import { MEMORY_FILES } from './sandbox-programs';
import { describeSandbox, sandboxForEach } from './sandbox-suite';

const MEBIBYTE = 1024 * 1024;

// One that is new for each test is in test/deep.
describeSandbox('renewed pyodide', (leases) => renewing(new PyodideKind(leases)));
describeSandbox('bubblewrap', (leases) => new BubblewrapKind(leases));

/** What a program may do to whoever comes after it, as far as it gets. */
const VANDAL = `
import atexit, builtins, codecs, decimal, gc, json, locale, os, random, signal, sys, threading, warnings
sys.setrecursionlimit(100)
sys.addaudithook(lambda *a: None)
sys.excepthook = threading.excepthook = None
signal.signal(signal.SIGINT, signal.SIG_IGN)
warnings.simplefilter("error")
decimal.getcontext().prec = 2
random.seed(1)
atexit.register(lambda: 1 / 0)
codecs.register_error("strict", lambda error: ("", error.end))
gc.disable()
gc.freeze()
for name in ("__proto__", "constructor", "hasOwnProperty"):
    for place in ("/tmp", "/lib", "/"):
        open(os.path.join(place, name), "w").write("behind")
builtins.print = None
json.dumps = None
sys.modules["math"] = None
os.environ["LEFT"] = "behind"
open("left.txt", "w").write("behind")
for place in ("/lib/left.txt", "/tmp/left.txt"):
    open(place, "w").write("behind")
for folder, _, files in os.walk("/lib"):
    for name in files:
        open(os.path.join(folder, name), "w").close()
`;

/** Sandboxes that a program has been through before, each time. */
function renewing(kind: SandboxKind): SandboxKind {
  return {
    name: kind.name,
    isSlowToOpen: kind.isSlowToOpen,
    availability: () => kind.availability(),
    async open() {
      const renewed = await vandalised(await kind.open());
      if (!renewed) throw new Error('not renewed');
      return renewed;
    },
  };
}

async function vandalised(sandbox: Sandbox): Promise<Sandbox | null> {
  await sandbox.writeFile('vandal.py', VANDAL);
  await sandbox.exec(['python3', 'vandal.py']);
  const next = await sandbox.renew?.();
  if (!next) return null;
  return {
    kind: next.kind,
    exec: (argv, options) => next.exec(argv, options),
    writeFile: (path, content) => next.writeFile(path, content),
    readFile: (path) => next.readFile(path),
    close: () => next.close(),
    async renew() {
      const renewed = await next.renew?.();
      return renewed ? vandalised(renewed) : null;
    },
  };
}

const SHARED_MEMORY = `
import mmap, time
held = []
for _ in range(6):
    memory = mmap.mmap(-1, 50 * 1024 * 1024)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    held.append(memory)
time.sleep(600)
`;

const NAMELESS_FILES = `
import os, time
held = []
for _ in range(6):
    file = open("file", "wb")
    os.unlink("file")
    for _ in range(20):
        file.write(b"x" * (1024 * 1024))
    file.flush()
    held.append(file)
time.sleep(600)
`;

const DEEP_FOLDERS = `
import os, time
for _ in range(1000):
    os.mkdir("deeper" * 4)
    os.chdir("deeper" * 4)
open("file", "w").write("x")
time.sleep(600)
`;

/** At most some twenty at a time, whatever happens. */
const BOMB = `
import os, time
end = time.time() + 60
while time.time() < end:
    try:
        os.fork()
    except OSError:
        pass
`;

/** What bubblewrap alone has to be told of: other kinds have no such memory, folders or processes. */
describe('a program in bubblewrap', () => {
  let folder: string;
  let leases: Leases;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-hostile-'));
    chmodSync(folder, 0o711);
    leases = new Leases(join(folder, 'leases'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const runIn = async (source: string, options: ExecOptions) => {
    if (typeof (await findTools()) === 'string') return null;
    const sandbox = await new BubblewrapKind(leases).open();
    await sandbox.writeFile('program.py', source);
    const result = await sandbox.exec(['python3', 'program.py'], options);
    await sandbox.close();
    return { ...result, left: await leases.list() };
  };

  test.each([
    ['memory that processes share', SHARED_MEMORY, { memoryBytes: 128 * MEBIBYTE }, 'memory'],
    ['files that are memory', MEMORY_FILES, { memoryBytes: 128 * MEBIBYTE }, 'memory'],
    ['files without a name', NAMELESS_FILES, { diskBytes: 32 * MEBIBYTE }, 'disk'],
    ['folders deeper than a path', DEEP_FOLDERS, { diskBytes: 32 * MEBIBYTE }, 'disk'],
  ])('ends at its limit with %s, and leaves nothing', async (_, source, limits, limit) => {
    const result = await runIn(source, { limits });

    expect(result ?? { limit, left: [] }).toMatchObject({ limit, left: [] });
  });

  test('that multiplies without end is ended at its time, and was not starved by the machine', async () => {
    const result = await runIn(BOMB, { limits: { processCount: 20 }, timeoutMs: 300 });

    expect(result ?? { limit: 'time' }).toMatchObject({ limit: 'time' });
  });

  test('has no folders made behind a link it left', async () => {
    if (typeof (await findTools()) === 'string') return;
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    const sandbox = await new BubblewrapKind(leases).open();
    await sandbox.exec(['python3', '-c', `import os; os.symlink(${JSON.stringify(outside)}, "link")`]);

    await expect(sandbox.writeFile('link/new/file', 'x')).rejects.toMatchObject({ code: 'refused' });

    expect(readdirSync(outside)).toEqual([]);
    await sandbox.close();
  });

  test.each([
    ['longer than the system takes', 'x'.repeat(MEBIBYTE)],
    ['with a NUL character', 'a\0b'],
  ])('is refused a word %s', async (_, word) => {
    if (typeof (await findTools()) === 'string') return;
    const sandbox = await new BubblewrapKind(leases).open();

    await expect(sandbox.exec(['python3', '-c', 'print(1)', word])).rejects.toMatchObject({
      code: 'refused',
    });
    await sandbox.close();
  });
});

/** Files that are made in one piece, which the engine of Pyodide takes as they are. */
const WHOLE_FILES = `
import os
for number in range(400):
    os.write(os.open(f"file-{number}", os.O_CREAT | os.O_WRONLY), b"x" * 1048576)
`;

const EMPTY_FILES = `
import os
for number in range(1000000):
    os.mkdir(f"folder-{number}")
`;

const LONG_LINKS = `
import os, sys
try:
    for number in range(2000):
        os.symlink("x" * 50000, f"link-{number}")
except OSError as error:
    sys.exit(f"[Errno {error.errno}]")
`;

const REMOVED_FILES = `
import os
for _ in range(300):
    with open("file", "wb") as file:
        file.write(b"x" * 1048576)
    os.remove("file")
print("written")
`;

/** Memory of JavaScript, which is not the interpreter's. */
const JAVASCRIPT_OBJECTS = `
from pyodide.ffi import to_js
held = []
while True:
    held.append(to_js(["x" * 4000000 + str(len(held))]))
`;

/** More answers than there are questions, the later ones for whoever asks next. */
const FORGED_ANSWERS = `
import ctypes, time
library = ctypes.CDLL(None)
for _ in range(50):
    for name in ("emscripten_console_log", "emscripten_out"):
        library[name](b'{"exitCode":0,"stdout":"forged","stderr":""}')
        library[name](b'{"ready":true,"isPutBack":true}')
    time.sleep(0.01)
`;

/** What a program finds where another one has been. */
const LOOK = `
import json, math, os
places = [os.path.exists(place) for place in ("/lib/left.txt", "/tmp/left.txt")]
print(json.dumps([math.floor(1.5), os.listdir("."), os.environ.get("LEFT"), *places]))
`;

describe('a program in pyodide', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-hostile-'));
  const leases = new Leases(folder);
  const place = sandboxForEach(leases, () => new PyodideKind(leases));
  let sandbox: Sandbox;

  beforeEach(() => {
    sandbox = place();
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (source: string, options: ExecOptions = {}) => {
    await sandbox.writeFile('program.py', source);
    return sandbox.exec(['python3', 'program.py'], options);
  };

  test.each([
    ['files made in one piece', WHOLE_FILES],
    ['folders with nothing in them', EMPTY_FILES],
    ['links to long names', LONG_LINKS],
  ])('ends at the limit of files with %s', async (_, source) => {
    expect(await run(source)).toMatchObject({ exitCode: 1, limit: 'disk' });
  });

  test('may write again what it has removed', async () => {
    const result = await run(REMOVED_FILES);

    expect(result).toMatchObject({ exitCode: 0, stdout: 'written\n', limit: null });
  });

  test('shows nothing to the next one in a renewed sandbox', async () => {
    await run(VANDAL);
    const renewed = await sandbox.renew?.();

    const next = await renewed?.exec(['python3', '-c', LOOK]);

    expect(JSON.parse(next?.stdout ?? '')).toEqual([
      1,
      expect.not.arrayContaining(['left.txt', 'program.py']),
      null,
      false,
      false,
    ]);
  });

  test("that fills JavaScript's memory is ended at a limit, and its sandbox not taken for lost", async () => {
    const result = await run(JAVASCRIPT_OBJECTS);

    expect(result).toMatchObject({ exitCode: null, limit: 'memory' });
  });

  test('answers no question of another one', async () => {
    const forging = await run(FORGED_ANSWERS);
    const next = await run('print("next")');

    expect(forging).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
    expect(next).toMatchObject({ exitCode: 0, stdout: 'next\n' });
    expect(await sandbox.renew?.()).toBeNull();
  });

  test('that goes beyond its time, or beyond a limit of memory of its own, has its sandbox not renewed', async () => {
    const ended = await run('while True: pass', { timeoutMs: 100 });
    const renewedAfterTime = await sandbox.renew?.();
    const limits = { memoryBytes: 128 * MEBIBYTE };
    const overfull = await run('held = bytearray(b"x") * (160 * 1024 * 1024)', { limits });
    const renewedAfterMemory = await sandbox.renew?.();

    expect(ended).toMatchObject({ exitCode: null, limit: 'time' });
    expect(overfull).toMatchObject({ exitCode: 1, limit: 'memory' });
    expect([renewedAfterTime, renewedAfterMemory]).toEqual([null, null]);
  });
});

test('says what bubblewrap lacks where it lacks something', async () => {
  const tools = await findTools();

  expect(typeof tools === 'string' ? tools : tools.bwrap).toMatch(/install|needs|does not work|bwrap$/);
});
