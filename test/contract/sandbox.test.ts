import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BubblewrapKind } from '../../src/sandboxes/bubblewrap/bubblewrap-kind';
import { findTools } from '../../src/sandboxes/bubblewrap/find-tools';
import { PyodideKind } from '../../src/sandboxes/pyodide/pyodide-kind';
import { Leases } from '../../src/sandboxes/leases/leases';
import type { ExecOptions, Sandbox, SandboxKind } from '../../src/sandboxes/sandbox';
import { MEMORY_FILES } from './sandbox-programs';
import { describeSandbox } from './sandbox-suite';

jest.setTimeout(180_000);

describeSandbox('pyodide', (leases) => new PyodideKind(leases));
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

/** Sandboxes that a program has been through before. */
function renewing(kind: SandboxKind): SandboxKind {
  return {
    name: kind.name,
    isSlowToOpen: kind.isSlowToOpen,
    availability: () => kind.availability(),
    async open() {
      const first = await kind.open();
      await first.writeFile('vandal.py', VANDAL);
      await first.exec(['python3', 'vandal.py']);
      const next = await first.renew?.();
      if (!next) throw new Error('not renewed');
      return next;
    },
  };
}

test('a renewed sandbox shows nothing of the program before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-renewed-'));
  const sandbox = await renewing(new PyodideKind(new Leases(folder))).open();

  await sandbox.writeFile(
    'look.py',
    'import json, math, os\nprint(json.dumps([math.floor(1.5), os.listdir("."), os.environ.get("LEFT"), os.path.exists("/lib/left.txt"), os.path.exists("/tmp/left.txt")]))',
  );
  const { stdout } = await sandbox.exec(['python3', 'look.py']);
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });

  expect(JSON.parse(stdout)).toEqual([
    1,
    expect.not.arrayContaining(['left.txt', 'vandal.py']),
    null,
    false,
    false,
  ]);
});

test('a sandbox whose program left work behind in the engine, or went beyond a limit, is not renewed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-renewed-'));
  const kind = new PyodideKind(new Leases(folder));
  const ended = await kind.open();
  await ended.writeFile('program.py', 'while True: pass');
  await ended.exec(['python3', 'program.py'], { timeoutMs: 300 });

  expect(await ended.renew?.()).toBeNull();
  await ended.close();
  rmSync(folder, { recursive: true, force: true });
});

const SHARED_MEMORY = `
import mmap, time
held = []
for _ in range(6):
    memory = mmap.mmap(-1, 50 * 1024 * 1024)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    held.append(memory)
time.sleep(10)
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
time.sleep(10)
`;

const DEEP_FOLDERS = `
import os, time
for _ in range(1000):
    os.mkdir("deeper" * 4)
    os.chdir("deeper" * 4)
open("file", "w").write("x")
time.sleep(10)
`;

/** At most some twenty at a time, whatever happens. */
const BOMB = `
import os, time
end = time.time() + 8
while time.time() < end:
    try:
        os.fork()
    except OSError:
        pass
`;

/** What bubblewrap alone has to be told of: other kinds have no such memory, folders or processes. */
describe('a program in bubblewrap', () => {
  const MEBIBYTE = 1024 * 1024;
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
    const result = await runIn(source, { limits, timeoutMs: 30_000 });

    expect(result?.limit ?? limit).toBe(limit);
    expect(result?.left ?? []).toEqual([]);
  });

  test('that multiplies without end is ended at its time, and was not starved by the machine', async () => {
    const result = await runIn(BOMB, { limits: { processCount: 20 }, timeoutMs: 1000 });

    expect(result?.limit ?? 'time').toBe('time');
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

describe('a program in pyodide', () => {
  let folder: string;
  let sandbox: Sandbox;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-hostile-'));
    sandbox = await new PyodideKind(new Leases(folder)).open();
  });

  afterEach(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (source: string) => {
    await sandbox.writeFile('program.py', source);
    return sandbox.exec(['python3', 'program.py']);
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
});

test('says what bubblewrap lacks where it lacks something', async () => {
  const tools = await findTools();

  expect(typeof tools === 'string' ? tools : tools.bwrap).toMatch(/install|needs|does not work|bwrap$/);
});
