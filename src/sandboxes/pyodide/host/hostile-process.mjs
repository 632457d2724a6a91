/** What a process that runs what nobody trusts gives up, and what it watches. */
import { Worker } from 'node:worker_threads';

/** No space left on device, as Emscripten numbers it. */
const NO_SPACE = 51;
const usualUmask = () => 0o022;
const NETWORK = ['fetch', 'WebSocket', 'XMLHttpRequest', 'EventSource', 'Request', 'navigator'];
const PROCESS_POWERS = [
  '_linkedBinding',
  'dlopen',
  'kill',
  'getBuiltinModule',
  '_debugProcess',
  '_startProfilerIdleNotifier',
  'mainModule',
];

/**
 * Takes from this process what a program that reaches JavaScript could use. Code cannot be made from text here
 * (--disallow-code-generation-from-strings), so it reaches only what is there.
 */
export function giveUpPowers(pyodide, diskBytes) {
  boundFiles(pyodide.FS, diskBytes);
  pyodide.runPython(`
import sys, _pyodide._importhook as importhook
importhook.jsfinder.jsproxies.clear()
for name in [name for name in sys.modules if name.split(".")[0] in ("js", "pyodide_js")]:
    del sys.modules[name]
del importhook, name
`);
  for (const name of NETWORK) Reflect.deleteProperty(globalThis, name);
  for (const name of PROCESS_POWERS) Object.defineProperty(process, name, { value: undefined });
  Object.defineProperty(process, 'umask', { value: usualUmask });
}

/** Files lie in JavaScript's memory, beside the interpreter's. The count lies where an image of the files finds it. */
function boundFiles(FS, diskBytes) {
  const { MEMFS } = FS.filesystems;
  const files = { bytes: 0 };
  FS.takenOfDisk = files;
  for (const name of ['expandFileStorage', 'resizeFileStorage']) {
    const change = MEMFS[name];
    MEMFS[name] = (node, size) => {
      const before = node.contents?.length ?? 0;
      if (files.bytes + size - before > diskBytes) throw new FS.ErrnoError(NO_SPACE);
      const result = change.call(MEMFS, node, size);
      files.bytes += (node.contents?.length ?? 0) - before;
      return result;
    };
  }
}

/** Ends this process when it has lost its parent, or a question takes more than it may. Runs beside the interpreter. */
const HOSTILE_WATCH = `
  const { writeSync } = require('node:fs');
  const { workerData } = require('node:worker_threads');
  const { deadline, processBytes } = workerData;
  const parent = process.ppid;
  const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const end = (limit) => {
    if (limit) writeSync(1, JSON.stringify({ limit }) + '\\n');
    process.kill(process.pid, 'SIGKILL');
  };
  let question = 0n;
  let startedAt = 0;
  setInterval(() => {
    if (process.ppid !== parent) end(null);
    if (process.memoryUsage.rss() > processBytes) end('memory');
    const asked = Atomics.load(deadline, 0);
    if (asked !== question) [question, startedAt] = [asked, cpuMs()];
    if (asked !== 0n && cpuMs() - startedAt > Number(asked % 10000000n)) end('cpu');
  }, 25);`;

/** Questions are told apart by their number, which the watch reads together with what they may take. */
export function watchHostile(processBytes) {
  const deadline = new BigInt64Array(new SharedArrayBuffer(8));
  const workerData = { deadline, processBytes };
  new Worker(HOSTILE_WATCH, { eval: true, workerData }).unref();
  let number = 0n;
  return (cpuMs) => {
    number += 1n;
    Atomics.store(deadline, 0, cpuMs === 0 ? 0n : number * 10_000_000n + BigInt(Math.ceil(cpuMs)));
  };
}

/** What could still call into an interpreter whose program has ended. */
export function pendingWork() {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /Timeout|Immediate|MessagePort/.test(name))
    .sort()
    .join();
}
