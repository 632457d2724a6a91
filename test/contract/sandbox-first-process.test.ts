import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BubblewrapKind } from '../../src/sandboxes/bubblewrap/bubblewrap-kind';
import { findTools } from '../../src/sandboxes/bubblewrap/find-tools';
import { Leases } from '../../src/sandboxes/leases/leases';
import { processesNaming } from '../../src/sandboxes/leases/processes-naming';
import type { ExecOptions, ExecResult } from '../../src/sandboxes/sandbox';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-first-'));
  chmodSync(folder, 0o711);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Null where there is no bubblewrap. */
async function run(source: string, options: ExecOptions = {}): Promise<ExecResult | null> {
  if (typeof (await findTools()) === 'string') return null;
  const sandbox = await new BubblewrapKind(new Leases(join(folder, 'leases'))).open();
  await sandbox.writeFile('program.py', source);
  const result = await sandbox.exec(['python3', 'program.py'], options);
  await sandbox.close();
  return result;
}

const LIMITS = `
print(open("/proc/1/limits").read() == open("/proc/self/limits").read())
`;

const OUTLIVING = `
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
print(library.prctl(1, 0, 0, 0, 0), os.strerror(ctypes.get_errno()))
`;

/** Makes the first process of the sandbox another program, by its memory and registers: those of x86-64. */
const takeover = (code: string) => `
import ctypes, os, struct
library = ctypes.CDLL(None, use_errno=True)
ptrace = lambda *words: library.ptrace(*[ctypes.c_long(word) if isinstance(word, int) else word for word in words])
ptrace(16, 1, 0, 0)
library.waitpid(1, None, 0x40000000)
registers = (ctypes.c_ulonglong * 27)()
ptrace(12, 1, 0, ctypes.byref(registers))
base = (registers[19] - 65536) & ~15
texts, places = b"", []
for word in (b"/usr/bin/python3", b"-I", b"-c", ${JSON.stringify(code)}.encode()):
    places.append(base + 1024 + len(texts))
    texts += word + b"\\0"
memory = os.open("/proc/1/mem", os.O_RDWR)
os.pwrite(memory, b"".join(struct.pack("<Q", place) for place in places) + b"\\0" * 8, base)
os.pwrite(memory, texts, base + 1024)
registers[10], registers[15], registers[14] = 59, (1 << 64) - 1, places[0]
registers[13], registers[12] = base, base + 8 * len(places)
registers[16] -= 2
ptrace(13, 1, 0, ctypes.byref(registers))
ptrace(17, 1, 0, 0)
`;

test('the first process of a sandbox has the limits of the program', async () => {
  expect(await run(LIMITS)).toMatchObject({ stdout: 'True\n', exitCode: 0 });
});

test('no program arranges to live on when what watches over it dies', async () => {
  expect(await run(OUTLIVING)).toMatchObject({ stdout: '-1 Invalid argument\n' });
});

test('a program that takes the place of the first process ends at its limits, and nothing is left of it', async () => {
  if (process.arch !== 'x64') return;
  const mark = `mark${process.pid}`;
  const code = `${mark} = open("taken", "w").write("x"); import os, time; [os.close(n) for n in range(3)]; time.sleep(600)`;
  const program = `${takeover(code)}
import time
while not os.path.exists("taken"): time.sleep(0.01)
print("taken", flush=True)
`;

  const result = await run(program, { timeoutMs: 3000 });

  expect(result).toMatchObject({ stdout: 'taken\n', limit: 'time' });
  expect(processesNaming(mark)).toEqual([]);
});

test.each([
  ['a signal', 'import os, signal\nos.kill(os.getpid(), signal.SIGTERM)', 128 + 15],
  ['a kill', 'import os\nos.kill(0, 9)', 128 + 9],
  ['an alarm', 'import signal, time\nsignal.alarm(1)\ntime.sleep(60)', 128 + 14],
  ['abort', 'import os\nos.abort()', 128 + 6],
])('a program that ends by %s says so, and nobody speaks for it', async (_what, source, exitCode) => {
  expect(await run(source)).toMatchObject({ stdout: '', stderr: '', exitCode, limit: null });
});

test('a program has no more environment than it was given', async () => {
  const result = await run('import os\nprint(sorted(os.environ))', { env: { COLOR: 'red' } });

  expect(result?.stdout).toBe("['COLOR', 'HOME', 'LC_ALL', 'PATH']\n");
});

test('orphans of a program are no load on it once they have ended', async () => {
  const source = `
import os, time
for _ in range(100):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
print("done")
`;

  expect(await run(source, { limits: { processCount: 10 } })).toMatchObject({
    stdout: 'done\n',
    exitCode: 0,
  });
});
