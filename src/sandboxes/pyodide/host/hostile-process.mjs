/** What a process that runs what nobody trusts gives up, and what it watches. */
import { Worker } from 'node:worker_threads';

/** No space left on device, as Emscripten numbers it. */
const NO_SPACE = 51;
/** What a file, folder or link takes beside its content. */
const NODE_BYTES = 1024;
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
  'stdin',
  'stdout',
  'stderr',
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

/**
 * Before Pyodide is loaded, which keeps the console's functions: standard output is for answers alone, and a program that can call
 * Emscripten's own functions would write some. What an error tells of its origin are places of this machine.
 */
export function silence() {
  for (const name of Object.keys(console)) console[name] = () => {};
  Object.defineProperty(Error, 'prepareStackTrace', { value: (error) => String(error) });
}

/** Files lie in JavaScript's memory, beside the interpreter's. The count lies where an image of the files finds it. */
function boundFiles(FS, diskBytes) {
  const { MEMFS } = FS.filesystems;
  const files = { bytes: takenBytes(FS) };
  const most = files.bytes + diskBytes;
  FS.takenOfDisk = files;
  const take = (bytes) => {
    // What was removed since is free again.
    if (files.bytes + bytes > most) files.bytes = takenBytes(FS);
    if (files.bytes + bytes > most) throw new FS.ErrnoError(NO_SPACE);
    files.bytes += bytes;
  };
  const lengthOf = (node) => node.contents?.length ?? 0;
  for (const name of ['expandFileStorage', 'resizeFileStorage']) {
    const change = MEMFS[name];
    MEMFS[name] = (node, size) => {
      const before = lengthOf(node);
      const wanted = Math.max(0, size - before);
      take(wanted);
      const result = change.call(MEMFS, node, size);
      files.bytes += lengthOf(node) - before - wanted;
      return result;
    };
  }
  const { file, dir } = MEMFS.ops_table;
  const { write } = file.stream;
  file.stream.write = (stream, buffer, offset, length, position, ...rest) => {
    // The first bytes of a file are not asked for by the ways above.
    if (stream.node.usedBytes === 0 && position === 0) take(Math.max(0, length - lengthOf(stream.node)));
    return write(stream, buffer, offset, length, position, ...rest);
  };
  const { symlink } = dir.node;
  dir.node.symlink = (parent, name, target) => {
    take(target.length);
    return symlink(parent, name, target);
  };
  const { createNode } = MEMFS;
  MEMFS.createNode = (parent, name, ...rest) => {
    take(NODE_BYTES + name.length);
    return createNode(parent, name, ...rest);
  };
}

/** Of all files that have a name or are open. */
function takenBytes(FS) {
  const nodes = new Set(FS.streams.filter(Boolean).map(({ node }) => node));
  for (const first of FS.nameTable) for (let node = first; node; node = node.name_next) nodes.add(node);
  let bytes = 0;
  for (const { contents, name, link } of nodes) {
    if (ArrayBuffer.isView(contents)) bytes += contents.length;
    bytes += NODE_BYTES + name.length + (link?.length ?? 0);
  }
  return bytes;
}

/** A question may take less than this. */
const MOST_MS = 10_000_000_000n;

/** Ends this process when it has lost its parent, or a question takes more than it may. Runs beside the interpreter. */
const HOSTILE_WATCH = `
  const { writeSync } = require('node:fs');
  const { workerData } = require('node:worker_threads');
  const { deadline, silence, processBytes } = workerData;
  const parent = process.ppid;
  const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const end = (limit) => {
    if (limit) writeSync(1, JSON.stringify({ limit }) + '\\n');
    process.kill(process.pid, 'SIGKILL');
  };
  let question = 0n;
  let startedAt = 0;
  let heard = 0;
  let silentSince = 0;
  setInterval(() => {
    if (process.ppid !== parent) end(null);
    if (process.memoryUsage.rss() > processBytes) end('memory');
    const asked = Atomics.load(deadline, 0);
    if (asked !== question) [question, startedAt, silentSince] = [asked, cpuMs(), cpuMs()];
    const [limitMs, lines] = [Atomics.load(silence, 0), Atomics.load(silence, 1)];
    if (lines !== heard) [heard, silentSince] = [lines, cpuMs()];
    if (asked !== 0n && cpuMs() - startedAt > Number(asked % ${MOST_MS}n)) end('cpu');
    if (asked !== 0n && limitMs > 0 && cpuMs() - silentSince > limitMs) end('time');
  }, 25);`;

/** Questions are told apart by their number, which the watch reads together with what they may take. */
export function watchHostile(processBytes) {
  const deadline = new BigInt64Array(new SharedArrayBuffer(8));
  const silence = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { deadline, silence, processBytes };
  new Worker(HOSTILE_WATCH, { eval: true, workerData }).unref();
  let number = 0n;
  let lineCount = 0;
  return {
    /** A question, or none. */
    expect({ cpuMs = 0, silence: between }) {
      number += 1n;
      lineCount = between?.lineCount ?? 0;
      Atomics.store(silence, 0, Math.ceil(between?.limitMs ?? 0));
      Atomics.store(deadline, 0, cpuMs === 0 ? 0n : number * MOST_MS + BigInt(Math.ceil(cpuMs)));
    },
    heardLine() {
      if (lineCount-- > 0) Atomics.add(silence, 1, 1);
    },
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
