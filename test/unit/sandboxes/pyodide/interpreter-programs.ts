import type { PyodideInterpreter } from '../../../../src/sandboxes/pyodide/pyodide-interpreter';

/** What is done to JavaScript's objects by a program that has got hold of one. */
export const REACH = 'from pyodide.ffi import create_proxy, to_js\nArray = to_js([]).constructor\n';

/** What may be left where all interpreters of a process would find it. */
export const ENDING = {
  'foreign functions':
    'import ctypes\nctypes.CDLL(None).getpid()\nctypes.memset(ctypes.addressof(ctypes.create_string_buffer(10)), 1, 10)',
  pipes: 'import os\nos.write(os.pipe()[1], b"left")',
  sockets: 'import socket\ntry: socket.socket().bind(("127.0.0.1", 8099))\nexcept OSError: pass',
  'memory shared with a file':
    'import mmap, os\ndescriptor = os.open("/tmp/m", os.O_CREAT | os.O_RDWR)\nos.truncate(descriptor, 5000)\nmmap.mmap(descriptor, 5000)[0] = 1',
  'objects of JavaScript':
    'from pyodide.ffi import create_proxy, to_js\nkept = [create_proxy(lambda: 1), to_js({"a": [1]})]',
  'a method of all arrays replaced': `${REACH}Array.prototype.join = create_proxy(lambda *a: "forged")`,
  'a property of all objects added': `${REACH}Array.prototype.__proto__.left = "behind"`,
  'a task left in the event loop':
    'import asyncio\nasync def late(): open("/tmp/late", "w").write("x")\nasyncio.ensure_future(late())',
  'a timer left': 'import asyncio\nasyncio.get_event_loop().call_later(0.01, lambda: open("/tmp/late", "w"))',
  'an end by itself': 'import os\nos._exit(7)',
  'an abort': 'import os\nos.abort()',
  'a fault': 'import faulthandler\nfaulthandler._sigsegv()',
};

export async function runIn(
  interpreter: PyodideInterpreter,
  source: string,
): Promise<Readonly<Record<string, unknown>>> {
  const files = { 'look.py': Buffer.from(source).toString('base64') };
  const question = { files, argv: ['python3', 'look.py'], stdin: '', env: {}, outputBytes: 10_000_000 };
  const text = JSON.stringify({ ...question, cpuMs: 60_000 });
  return JSON.parse(
    (await interpreter.ask({ text, timeoutMs: 60_000, signal: undefined })) ?? '{}',
  ) as Readonly<Record<string, unknown>>;
}

/** Runs a program, after which no other one may get this process. */
export async function expectToEnd(interpreter: PyodideInterpreter, source: string): Promise<void> {
  await runIn(interpreter, source);

  expect(await interpreter.renew()).toBeNull();
  expect(interpreter.isAlive).toBe(false);
}
