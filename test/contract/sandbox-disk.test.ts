import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BubblewrapKind } from '../../src/sandboxes/bubblewrap/bubblewrap-kind';
import { findTools } from '../../src/sandboxes/bubblewrap/find-tools';
import { Leases } from '../../src/sandboxes/leases/leases';
import type { ExecOptions, ExecResult } from '../../src/sandboxes/sandbox';
import { DISK_ATTACKS, DISK_ATTACKS_OF_OTHERS } from './disk-attacks';

const MEBIBYTE = 1024 * 1024;
const SOMEBODY = 1777;
const OPTIONS: ExecOptions = { limits: { diskBytes: 64 * MEBIBYTE }, timeoutMs: 120_000 };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-disk-'));
  chmodSync(folder, 0o777);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Null where there is no bubblewrap. */
async function runProgram(source: string): Promise<ExecResult | null> {
  if (typeof (await findTools()) === 'string') return null;
  const sandbox = await new BubblewrapKind(new Leases(join(folder, 'leases'))).open();
  await sandbox.writeFile('program.py', source);
  const result = await sandbox.exec(['python3', 'program.py'], OPTIONS);
  await sandbox.close();
  return result;
}

/** The same under a worker of a user who is not root; we are that ourselves, or may become it. */
async function runAsSomebody(source: string): Promise<ExecResult | null> {
  if (process.getuid?.() !== 0) return runProgram(source);
  if (typeof (await findTools()) === 'string') return null;
  const words = [join(folder, 'leases'), String(SOMEBODY), JSON.stringify(OPTIONS)];
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(__dirname, 'sandbox-user-program.js'), ...words],
    { input: source, encoding: 'utf8' },
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as ExecResult;
}

test.each(DISK_ATTACKS)(
  'a program in bubblewrap that fills the disk with %s ends at its limit',
  async (_, source) => {
    const result = await runProgram(source);

    expect(result ?? { limit: 'disk' }).toMatchObject({ limit: 'disk' });
  },
);

test.each(DISK_ATTACKS_OF_OTHERS)(
  'a program of somebody in bubblewrap that fills the disk with %s ends at its limit',
  async (_, source) => {
    const result = await runAsSomebody(source);

    expect(result ?? { limit: 'disk' }).toMatchObject({ limit: 'disk' });
  },
);

/** What programs do with their files, for longer than it takes to look at them several times. */
const ORDINARY = `
import ctypes, mmap, os, shutil, signal, stat, subprocess, tempfile, threading, time

end = time.time() + 3

def temporary():
    while time.time() < end:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            for number in range(20):
                with open(f"{folder}/{number}", "w") as file: file.write("x" * 1000)
                os.rename(f"{folder}/{number}", f"{folder}/{number}.done")

def replaced():
    while time.time() < end:
        with open("next", "w") as file: file.write("x")
        os.replace("next", "now")

def mapped():
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"x" * 1_000_000)
        file.flush()
        pages = mmap.mmap(file.fileno(), 0)
    while time.time() < end: assert pages[999_999:] == b"x"

def running():
    shutil.copy("/bin/sleep", "own-sleep")
    child = subprocess.Popen(["./own-sleep", "3"])
    # It runs by now: Popen waits for that.
    os.unlink("own-sleep")
    assert child.wait() == 0

def closed():
    os.mkdir("closed")
    open("closed/file", "w").close()
    os.chmod("closed", 0)
    while time.time() < end:
        assert stat.S_IMODE(os.stat("closed").st_mode) == 0
        try:
            os.listdir("closed")
        except PermissionError:
            continue
        raise AssertionError("it was open")

def sleeping():
    child = subprocess.Popen(["sleep", "60"])
    child.send_signal(signal.SIGSTOP)
    while time.time() < end:
        time.sleep(0.1)
        assert open(f"/proc/{child.pid}/stat").read().split()[2] == "T"
    child.kill()
    assert child.wait() == -9

failures = []
def guarded(work):
    try:
        work()
    except BaseException as error:
        failures.append((work.__name__, repr(error)))

threads = [threading.Thread(target=guarded, args=(work,)) for work in (temporary, replaced, mapped, running, closed, sleeping)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failures or "all of it")
`;

test.each([
  ['root', runProgram],
  ['somebody', runAsSomebody],
])(
  'a program of %s in bubblewrap may make, rename, map, close and remove files all the time',
  async (_, run) => {
    const result = await run(ORDINARY);

    expect(result ?? { stdout: 'all of it\n' }).toMatchObject({ stdout: 'all of it\n' });
  },
);
