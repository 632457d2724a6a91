import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BubblewrapKind } from '../../src/sandboxes/bubblewrap/bubblewrap-kind';
import { findTools } from '../../src/sandboxes/bubblewrap/find-tools';
import { Leases } from '../../src/sandboxes/leases/leases';
import type { ExecOptions } from '../../src/sandboxes/sandbox';
import { MEMORY_ATTACKS } from './memory-attacks';

const MEBIBYTE = 1024 * 1024;

let folder: string;
let leases: Leases;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-memory-'));
  chmodSync(folder, 0o711);
  leases = new Leases(join(folder, 'leases'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Null where there is no bubblewrap. */
async function runProgram(source: string, options: ExecOptions) {
  if (typeof (await findTools()) === 'string') return null;
  const sandbox = await new BubblewrapKind(leases).open();
  await sandbox.writeFile('program.py', source);
  const result = await sandbox.exec(['python3', 'program.py'], options);
  await sandbox.close();
  return result;
}

test.each(MEMORY_ATTACKS)(
  'a program in bubblewrap that holds %s ends at its limit of memory',
  async (_, source) => {
    const result = await runProgram(source, { limits: { memoryBytes: 128 * MEBIBYTE } });

    expect(result ?? { limit: 'memory' }).toMatchObject({ limit: 'memory' });
  },
);

/** What programs of benchmarks do beside computing. */
const ORDINARY = `
import asyncio, ctypes, http.server, mmap, multiprocessing, os, shutil, sqlite3, subprocess, tempfile, threading, urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory

def square(number):
    return number * number

def put(queue, value, number):
    with value.get_lock():
        value.value += number
    queue.put(number)

def processes(way):
    context = multiprocessing.get_context(way)
    with context.Pool(4) as pool:
        assert pool.map(square, range(10)) == [n * n for n in range(10)]
    queue, value = context.Queue(), context.Value("i", 0)
    children = [context.Process(target=put, args=(queue, value, number)) for number in range(3)]
    for child in children: child.start()
    assert sorted(queue.get() for _ in children) == [0, 1, 2]
    for child in children: child.join()
    assert value.value == 3
    ends = context.Pipe()
    ends[0].send("hello")
    assert ends[1].recv() == "hello"

def manager():
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        child = multiprocessing.Process(target=shared.update, args=({"a": 1},))
        child.start(); child.join()
        assert dict(shared) == {"a": 1}

def executors():
    with ProcessPoolExecutor(4) as pool: assert list(pool.map(square, [2, 3])) == [4, 9]
    with ThreadPoolExecutor(16) as pool: assert sum(pool.map(square, range(100))) == 328350

def shared():
    memory = shared_memory.SharedMemory(create=True, size=1 << 20)
    memory.buf[0] = 7
    memory.close(); memory.unlink()
    pieces = [mmap.mmap(-1, 1 << 20) for _ in range(8)]
    child = os.fork()
    if child == 0:
        pieces[0][0] = 7
        os._exit(0)
    os.waitpid(child, 0)
    assert pieces[0][0] == 7

def shell():
    done = subprocess.run("seq 1000 | grep 7 | sort -r | head -n 1", shell=True, capture_output=True, text=True)
    assert done.stdout == "997\\n", done
    zeros = subprocess.run("head -c 100000 /dev/zero | wc -c; echo gone > /dev/null", shell=True, capture_output=True, text=True)
    assert zeros.stdout.strip() == "100000", zeros
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.communicate(b"x" * 1_000_000)[0] == b"x" * 1_000_000

def loop():
    async def both():
        child = await asyncio.create_subprocess_exec("echo", "hello", stdout=asyncio.subprocess.PIPE)
        return await asyncio.gather(child.stdout.read(), asyncio.to_thread(square, 3))
    assert asyncio.run(both()) == [b"hello\\n", 9]

def network():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert b"program.py" in urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()

def files():
    with open("data", "wb") as file: file.write(b"x" * 1_000_000)
    shutil.copyfile("data", "copied")
    assert os.path.getsize("copied") == 1_000_000
    with tempfile.TemporaryFile() as file: file.write(b"x")
    with sqlite3.connect("base") as base: base.execute("create table a (b)").execute("insert into a values (1)")

def compiler():
    if not shutil.which("gcc"): return
    with open("main.c", "w") as file:
        file.write("#include <stdio.h>\\n#include <pthread.h>\\nvoid *run(void *a) { puts(a); return 0; }\\n"
                   "int main() { pthread_t t; pthread_create(&t, 0, run, \\"hello\\"); pthread_join(t, 0); }")
    subprocess.run(["gcc", "-pthread", "main.c", "-o", "main"], check=True)
    assert subprocess.run(["./main"], capture_output=True).stdout == b"hello\\n"

def node():
    if not shutil.which("node"): return
    source = """
      const { execFileSync } = require('node:child_process');
      const { Worker } = require('node:worker_threads');
      const fs = require('node:fs');
      fs.copyFileSync('data', 'copied by node');
      new Worker('setTimeout(() => console.log("worker"), 1)', { eval: true }).on('exit', () => {
        require('node:http').createServer((_, answer) => answer.end('x')).listen(0, '127.0.0.1', function () {
          fetch('http://127.0.0.1:' + this.address().port).then((answer) => answer.text()).then((text) => {
            console.log(execFileSync('echo', [text]).toString(), fs.statSync('copied by node').size);
            process.exit();
          });
        });
      });"""
    done = subprocess.run(["node", "-e", source], capture_output=True, text=True)
    assert done.stdout.split() == ["worker", "x", "1000000"], done

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"): processes(way)
    for each in (manager, executors, shared, shell, loop, network, files, compiler, node): each()
    print("all of it")
`;

test('a program in bubblewrap has processes, threads, pipes, sockets, files, a compiler and node', async () => {
  const result = await runProgram(ORDINARY, {});

  expect(result ?? { stdout: 'all of it\n' }).toMatchObject({ stdout: 'all of it\n' });
});

/** Says of each attempt whether it was refused. */
const UNCOUNTED = `
import ctypes, os, socket

def is_refused(attempt):
    try:
        attempt()
        return False
    except OSError:
        return True

def over_tcp():
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0)); server.listen(); client.connect(server.getsockname())
        client.setsockopt(6, 31, b"tls")

protocols = [("stream", 262), ("stream", 132), ("dgram", 136), ("dgram", 1), ("dgram", 58), ("seqpacket", 0), ("seqpacket", 132), ("stream", 256)]
types = {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM, "seqpacket": socket.SOCK_SEQPACKET}
for family in (socket.AF_INET, socket.AF_INET6):
    for type, protocol in protocols:
        print(type, protocol, is_refused(lambda: socket.socket(family, types[type], protocol)))
def filter():
    if ctypes.CDLL(None, use_errno=True).syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 2, 0, ctypes.c_int(0)) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")

def call(*arguments):
    if ctypes.CDLL(None, use_errno=True).syscall(*arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")

numbers = {"x86_64": (157, 206), "aarch64": (167, 0)}[os.uname().machine]
context = ctypes.c_ulong(0)
print("a table of futexes", is_refused(lambda: call(numbers[0], 78, 1, ctypes.c_long(16), 0, 0)))
print("a filter by another way", is_refused(lambda: call(numbers[0], 22, 2, ctypes.c_long(0), 0, 0)))
print("a context of input and output", is_refused(lambda: call(numbers[1], 1, ctypes.byref(context))))

def attribute(place, name):
    os.makedirs(place, exist_ok=True)
    os.setxattr(place, name, b"x")

print("over TCP", is_refused(over_tcp))
print("a filter", is_refused(filter))
for place in ("/tmp/d", "/dev/shm/d", "/work/d"):
    for name in ("user.x", "system.posix_acl_access", "system.posix_acl_default"):
        print(place, name, is_refused(lambda: attribute(place, name)))
print("a terminal", is_refused(os.openpty))
print("a terminal's device", is_refused(lambda: os.open("/dev/ptmx", os.O_RDWR)))
for type in ("stream", "dgram"):
    socket.socket(socket.AF_INET, types[type], 6 if type == "stream" else 17).close()
    socket.socket(socket.AF_INET6, types[type]).close()
`;

test('protocols and devices that hold memory where nobody counts it are refused in bubblewrap', async () => {
  const result = await runProgram(UNCOUNTED, {});

  const lines = (result?.stdout ?? '').trim().split('\n');
  expect(result ?? { exitCode: 0 }).toMatchObject({ exitCode: 0 });
  expect(result === null ? [] : lines).toHaveLength(result === null ? 0 : 32);
  expect(lines.filter((line) => line !== '' && !line.endsWith(' True'))).toEqual([]);
});

test('the device of zeros can be read in bubblewrap, but not be made memory', async () => {
  const result = await runProgram('print(open("/dev/zero", "rb").read(3))\nopen("/dev/zero", "r+b")', {});

  expect(result?.stdout ?? 'no bubblewrap').toMatch(/^b'\\x00\\x00\\x00'|no bubblewrap/);
  expect(result?.stderr ?? 'Read-only').toMatch(/PermissionError|Read-only/);
});
