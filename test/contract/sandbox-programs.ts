/** Python programs that try what a sandbox must not allow. They print what they achieved. */

/** At most 100 children, whatever the sandbox does. */
export const FORKS = `
import os, time
count = 0
try:
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        count += 1
except OSError as error:
    print("stopped", count, type(error).__name__)
else:
    print("unstopped", count)
`;

/** Two gigabytes, touched. */
export const MEMORY = `
blocks = []
for _ in range(256):
    blocks.append(bytearray(b"x") * (8 * 1024 * 1024))
print("unstopped", len(blocks))
`;

/** Three hundred megabytes in files that are memory. */
export const MEMORY_FILES = `
import os, time
held = [os.memfd_create("m") for _ in range(6)]
for file in held:
    for _ in range(50):
        os.write(file, b"x" * (1024 * 1024))
time.sleep(600)
`;

/** 400 megabytes in forty files, removed at the end. */
export const DISK = `
import os
block = b"x" * (1024 * 1024)
for number in range(40):
    with open(f"file-{number}", "wb") as file:
        for _ in range(10):
            file.write(block)
print("unstopped")
`;

export const FLOOD = `
line = "y" * 65535
while True:
    print(line)
`;

export const SPIN = `
while True:
    pass
`;

/** Names of the environment and of what there is to read. */
export function snoop(secretFile: string): string {
  return `
import glob, os
print(dict(os.environ))
places = [${JSON.stringify(secretFile)}, "/etc/shadow", "/root", "/home", "/proc/1/environ", "/proc/self/environ"]
places += glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
for place in places:
    try:
        if os.path.isdir(place):
            print(place, os.listdir(place))
        else:
            with open(place, "rb") as file:
                print(place, file.read())
    except Exception as error:
        print(place, "refused", type(error).__name__)
`;
}

/** Every way to a port of the machine that a program has, JavaScript's included. */
export function connect(port: number): string {
  return `
import socket
def attempt(name, action):
    try:
        print(name, "reached", repr(action())[:100])
    except BaseException as error:
        print(name, "refused", type(error).__name__, str(error)[:100])

def over_socket():
    with socket.create_connection(("127.0.0.1", ${port}), timeout=2) as connection:
        connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return connection.recv(10) or 1 / 0

def over_urllib():
    import urllib.request
    return urllib.request.urlopen("http://127.0.0.1:${port}/", timeout=2).read()

def over_fetch():
    import js
    return js.fetch("http://127.0.0.1:${port}/")

attempt("socket", over_socket)
attempt("urllib", over_urllib)
attempt("fetch", over_fetch)
`;
}

/** Signals to processes of the machine: by number, to the parent, to everybody. */
export function signal(pid: number): string {
  return `
import os, signal
for target in (${pid}, os.getppid(), -1):
    try:
        os.kill(target, signal.SIGKILL)
        print(target, "sent")
    except BaseException as error:
        print(target, "refused", type(error).__name__)
`;
}

/** A child of a child that outlives its parents, if it may, and every test that would wait for it. */
export const LINGER = `
import os, time
try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(0); os.close(1); os.close(2)
            time.sleep(86400)
        os._exit(0)
except OSError as error:
    print("no children here", type(error).__name__)
print("done")
`;

/** What a program in an interpreter that runs on JavaScript may reach of it. */
export const REACH_JAVASCRIPT = `
def attempt(name, action):
    try:
        print(name, "reached", repr(action())[:200])
    except BaseException as error:
        print(name, "refused", type(error).__name__, str(error)[:100])

def proxies():
    import gc
    return [each for each in gc.get_objects() if type(each).__name__ == "JsProxy"]

def by_constructor():
    from pyodide.ffi import to_js
    return to_js({"a": 1}).constructor.constructor("return process.pid")()

def by_import():
    import js
    return js.process.pid

def by_module():
    import pyodide_js
    return pyodide_js._module

def by_code():
    from pyodide.code import run_js
    return run_js("process.pid")

def by_proxies():
    for each in proxies():
        for name in ("process", "require", "fetch"):
            if hasattr(each, name):
                return name
            if hasattr(each, "constructor") and hasattr(each.constructor, "constructor"):
                return each.constructor.constructor("return process.pid")()
    raise LookupError("nothing")

def by_error():
    from pyodide.ffi import JsException, to_js
    try:
        to_js([]).constructor.constructor("return 1")()
    except JsException as error:
        return [line for line in error.stack.split("\\n") if "/" in line][0]

def by_stream():
    from pyodide.http import pyfetch
    return pyfetch("http://127.0.0.1/").send(None)

def by_worker():
    import _pyodide_core
    return _pyodide_core.js.process

for name, action in list(globals().items()):
    if name.startswith("by_"):
        attempt(name, action)
`;
