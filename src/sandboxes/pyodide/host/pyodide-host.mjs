/**
 * A Python program kept warm inside Pyodide, in a process of its own.
 *
 * `pyodide-host.mjs serve '<settings>'` reads a question a line from standard input and writes an answer a line to
 * standard output, after one line `{"ready":true}`. `pyodide-host.mjs snapshot '<settings>'` writes the memory of the
 * warmed-up interpreter to a file, from which a later process starts in a second instead of six.
 *
 * Settings: {"pyodide": folder, "wheels": [{"path","sha256"}], "program": file, "warmUp": [question],
 * "snapshot": file or null, "memoryLimit": bytes, "limitMs": a question may take before the process ends itself}.
 * The program defines `answer(text) -> text`.
 *
 * "hostile": {"processBytes","diskBytes","answerBytes"} where the program runs what nobody trusts: this process then gives up what it can
 * do besides computing, bounds its files and its size, and ends with whoever started it. A question is a word, a space, and JSON; its
 * answer begins with the same word, which no program gets to know. A question may say "cpuMs"; one that takes more, or more
 * memory, or "silence": {"limitMs", "lineCount"} between lines of its program, is answered by {"limit": "cpu" | "memory" | "time"} without a word and the end of the process, and one
 * that ended the interpreter by {"ended": exit code or null, "why": text}. {"renew": true} makes the interpreter as it was before any program, by
 * putting it back where that is possible and by starting another one in this process otherwise, and is answered by {"ready":true,
 * "isPutBack": which of both}; where something of the program before may be left elsewhere in this process, by {"ready":false} and its end.
 */
import { createHash } from 'node:crypto';
import { constants, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { giveUpPowers, pendingWork, silence, watchHostile } from './hostile-process.mjs';
import { watchImports } from './import-watch.mjs';
import { imageOf } from './interpreter-image.mjs';

const PAGE = 65536;
const WATCH_EVERY_MS = 250;
const WATCH_STARTS_MS = 50;
const LINE_END = 10;

const [mode, settingsText] = process.argv.slice(2);
const settings = JSON.parse(settingsText);
const FULL_PIPE_MS = 2;
const nothing = new Int32Array(new SharedArrayBuffer(4));

const print = (value) => writeLine(JSON.stringify(value));

/** All of it: one write takes as much as the pipe has room for, and fails where that is nothing. */
function writeLine(text) {
  const bytes = Buffer.from(`${text}\n`);
  for (let sent = 0; sent < bytes.length;) {
    try {
      sent += writeSync(1, bytes, sent);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(nothing, 0, 0, FULL_PIPE_MS);
    }
  }
}

// Refused under Node's permission model; Emscripten asks it for the flags of open() only.
Object.defineProperty(process, 'binding', { value: () => ({ fs: constants }) });

const instantiate = WebAssembly.instantiate;
const INTERPRETER_BYTES = 1_000_000;
let interpreterModule = null;
/** Whether something was asked of JavaScript since the interpreter started whose traces an image does not put back. */
let hasLeftTraces = false;

/** The interpreter is compiled once, however often it is started in this process. */
async function instantiateOnce(source, imports) {
  if (!(source.byteLength > INTERPRETER_BYTES)) return instantiate.call(WebAssembly, source, imports);
  interpreterModule ??= await WebAssembly.compile(source);
  const watched = watchImports(interpreterModule, imports, () => {
    hasLeftTraces = true;
  });
  const instance = await instantiate.call(WebAssembly, interpreterModule, watched);
  return { instance, module: interpreterModule };
}

/** Pyodide gives a snapshot's memory no room (it passes INITIAL_MEMORY, which a module that exports its memory ignores). */
function prepareMemory(snapshotLength) {
  WebAssembly.instantiate = async (...args) => {
    const result = await instantiateOnce(...args);
    const memory = (result.instance ?? result).exports?.memory;
    if (memory instanceof WebAssembly.Memory) {
      const missing = Math.ceil((snapshotLength - memory.buffer.byteLength) / PAGE);
      if (missing > 0) memory.grow(missing);
      limitMemory(memory);
    }
    return result;
  };
}

/** Python sees a MemoryError at the limit. */
function limitMemory(memory) {
  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * PAGE > settings.memoryLimit) throw new RangeError('memory limit');
    return grow(pages);
  };
}

function readWheel({ path, sha256 }) {
  const bytes = readFileSync(path);
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sha256) throw new Error(`${path} has the hash ${found}, not ${sha256}. Fetch it again.`);
  return new Uint8Array(bytes);
}

/** Python's modules are read from the wheels on demand, also after a snapshot: files are not part of one. */
function placeWheels(pyodide) {
  return settings.wheels.map((wheel, index) => {
    const place = `/wheels-${index}.whl`;
    pyodide.FS.writeFile(place, readWheel(wheel));
    return place;
  });
}

/** A program's output does not come here: it is told that a line of it has ended. */
let onLine = () => {};

async function start(options) {
  const { loadPyodide } = await import(pathToFileURL(`${settings.pyodide}/pyodide.mjs`).href);
  return loadPyodide({
    indexURL: `${settings.pyodide}/`,
    // Python sees nothing of Node through the module `js`.
    jsglobals: {},
    env: { HOME: '/home/pyodide', PYTHONHASHSEED: '0' },
    // By default Python reads the questions of this process.
    stdin: () => null,
    stdout: () => onLine(),
    stderr: () => {},
    ...options,
  });
}

async function startCold(options = {}) {
  prepareMemory(0);
  const pyodide = await start(options);
  pyodide.globals.set('wheel_places', pyodide.toPy(placeWheels(pyodide)));
  pyodide.runPython(
    'import sys\nsys.path[:0] = wheel_places\nsys.modules["__main__"].__file__ = "program.py"',
  );
  pyodide.runPython(
    readFileSync(settings.program, 'utf8').replace(/\nif __name__ == .__main__.:[^]*$/, '\n'),
  );
  for (const question of settings.warmUp) ask(pyodide, question);
  return pyodide;
}

async function startFromSnapshot() {
  const snapshot = new Uint8Array(readFileSync(settings.snapshot));
  prepareMemory(snapshot.length);
  const pyodide = await start({ _loadSnapshot: snapshot });
  placeWheels(pyodide);
  // The first use of what lies outside the interpreter's memory costs; better now than in a question's time.
  for (const question of settings.warmUp) ask(pyodide, question);
  return pyodide;
}

function ask(pyodide, question) {
  pyodide.globals.set('question_text', question);
  return pyodide.runPython('answer(question_text)');
}

/** What interpreters before leave is not seen by the collector as the memory that it is. */
const COLLECT_EVERY = 4;
/** Its callbacks would let go of what an interpreter had before it was put back. */
class Forgetful {
  register() {}
  unregister() {}
}

/** An interpreter for one program after another, each of which finds it as the first one did. */
class HostilePlace {
  startCount = 0;
  hasEnded = false;

  async start() {
    this.pyodide = null;
    if (++this.startCount % COLLECT_EVERY === 0) globalThis.gc?.();
    this.pyodide = await (settings.snapshot ? startFromSnapshot() : startCold());
    giveUpPowers(this.pyodide, settings.hostile.diskBytes);
    this.answer = this.pyodide.globals.get('answer');
    for (const question of settings.warmUp) this.answer(question);
    this.hasEnded = false;
    hasLeftTraces = false;
    this.image = imageOf(this.pyodide);
  }

  /** Whether the interpreter is the same one. */
  async renew() {
    if (!this.hasEnded && this.image.restore()) return true;
    await this.start();
    return false;
  }

  /** The answer, or what became of the interpreter. */
  ask(question) {
    try {
      return String(this.answer(question)).slice(0, settings.hostile.answerBytes);
    } catch (error) {
      this.hasEnded = true;
      const status = typeof error?.status === 'number' ? error.status : null;
      return JSON.stringify({ ended: status, why: String(error?.message ?? error).slice(0, 2000) });
    }
  }
}

async function serveHostile() {
  silence();
  globalThis.FinalizationRegistry = Forgetful;
  const watch = watchHostile(settings.hostile.processBytes);
  onLine = watch.heardLine;
  // The watch thread starts with the powers this process still has.
  await new Promise((resolve) => setTimeout(resolve, WATCH_STARTS_MS));
  const place = new HostilePlace();
  await place.start();
  print({ ready: true });
  const pending = pendingWork();
  for (let line = nextLine(); line !== null; line = nextLine()) {
    const [word, text] = splitOnce(line);
    const answer = (json) => writeLine(`${word} ${json}`);
    const question = JSON.parse(text);
    if (!question.renew) {
      watch.expect(question);
      const result = place.ask(text);
      watch.expect({});
      answer(result);
    } else if (hasLeftTraces || pendingWork() !== pending) {
      answer('{"ready":false}');
      break;
    } else {
      answer(JSON.stringify({ ready: true, isPutBack: await place.renew() }));
    }
  }
}

const INPUT = Buffer.alloc(PAGE);

/** Waited for with the whole thread, so that nothing of a program runs between two questions. Whoever asks waits for the answer. */
function nextLine() {
  const parts = [];
  for (;;) {
    const length = readSync(0, INPUT);
    if (length === 0) return null;
    parts.push(Buffer.from(INPUT.subarray(0, length)));
    if (INPUT[length - 1] === LINE_END) return Buffer.concat(parts).toString();
  }
}

function splitOnce(line) {
  const at = line.indexOf(' ');
  return [line.slice(0, at), line.slice(at + 1)];
}

/** Ends this process when a question runs on although nobody is left to kill it. */
function watch() {
  const deadline = new BigInt64Array(new SharedArrayBuffer(8));
  const source = `
    const { workerData } = require('node:worker_threads');
    setInterval(() => {
      const deadline = Atomics.load(workerData, 0);
      if (deadline !== 0n && BigInt(Date.now()) > deadline) process.kill(process.pid, 'SIGKILL');
    }, ${WATCH_EVERY_MS});`;
  new Worker(source, { eval: true, workerData: deadline }).unref();
  return (limitMs) => Atomics.store(deadline, 0, limitMs === 0 ? 0n : BigInt(Date.now() + limitMs));
}

async function serve() {
  const pyodide = await (settings.snapshot ? startFromSnapshot() : startCold());
  const expectEndWithin = watch();
  print({ ready: true });
  for (let line = nextLine(); line !== null; line = nextLine()) {
    expectEndWithin(settings.limitMs);
    const answer = ask(pyodide, line);
    expectEndWithin(0);
    writeLine(answer);
  }
}

async function snapshot() {
  const pyodide = await startCold({ _makeSnapshot: true });
  writeFileSync(settings.snapshot, pyodide.makeMemorySnapshot());
  print({ ready: true });
}

try {
  if (mode === 'snapshot') await snapshot();
  else await (settings.hostile ? serveHostile() : serve());
  process.exit(0);
} catch (error) {
  // Pyodide's stacks quote its whole minified source.
  print({ ready: false, error: String(error?.message ?? error).slice(0, 2000) });
  process.exit(1);
}
